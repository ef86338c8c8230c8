"""Tests that only `make conformance` runs, and the tests in CI that check the same rules.

CI runs a core of each functional suite. A row names what it leaves out, as a file of
`tests/functional/` (all that is marked there and that no other row names) or as a test in it. The
tests that cover the rule run in CI; their paths begin at `tests/` where they are not functional.
`tests/unit/docs/test_conformance_cover.py` compares the rows with the marks.
"""

from __future__ import annotations

import ast
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tools.run_suites import recorded

if TYPE_CHECKING:
    from collections.abc import Iterator

TESTS = Path(__file__).parent
FUNCTIONAL = TESTS / "functional"
_MARKS = ("conformance", "_MORE", "_REFUSED", "FAULTS")
"""The mark, and names of lists of parameters that contain it."""


@dataclass(frozen=True)
class Cover:
    """What CI leaves out, and what covers it there.

    Args:
        rule: The rule that the tests check.
        left: The tests that CI leaves out.
        by: The tests in CI that check the rule.
    """

    rule: str
    left: tuple[str, ...]
    by: tuple[str, ...]


_BEHAVIOUR = "tests/unit/execution/test_behaviour.py::"
_REFRESH = "tests/unit/execution/test_refresh.py::"
_HISTORY = "tests/unit/execution/test_table_history.py::"
_LOADER = "tests/unit/execution/test_table_loader.py::"
_DIFFERENTIAL = "tests/unit/query/test_differential.py::"
_STRATEGY = "tests/unit/strategies/test_differential.py::"
_CONTRACT = "engine/test_table_format.py::TestDelta"

COVERS = (
    # The behaviour suites: every guarantee in memory, and what Delta has a part in on Spark.
    Cover(
        "guarantees of CREATE, CREATE OR ALTER, REFRESH and DROP",
        ("engine/test_behaviour.py::TestEveryBehaviour",),
        (
            f"{_BEHAVIOUR}TestBehaviour",
            "engine/test_create.py::test_the_first_commit_holds_rows_and_definition",
            "engine/test_create_or_alter.py::test_all_violations_at_once_and_nothing_touched",
            (
                "engine/test_create_or_alter.py::"
                "test_appended_columns_and_a_changed_query_fill_the_table_in_one_commit"
            ),
            "engine/test_drop.py::test_drop",
            "engine/test_constraints.py::test_a_primary_key_at_create_and_refresh",
        ),
    ),
    Cover(
        "of several writers none loses or doubles rows",
        ("engine/test_behaviour.py::TestEveryBehaviour",),
        (
            f"{_BEHAVIOUR}TestBehaviour",
            f"{_CONTRACT}::test_a_writer_after_another_one_gets_a_conflict",
            (
                "refreshes/test_refresh.py::"
                "test_of_two_refreshes_planned_at_the_same_time_one_plans_again"
            ),
            "refreshes/test_incremental.py::test_a_writer_in_between_is_not_overlooked",
            "refreshes/test_source_changes.py::test_appended_rows_are_read_from_their_files_alone",
            "processes/test_statements.py::test_two_creators",
            "processes/test_statements.py::test_two_writers_with_the_same_fence",
        ),
    ),
    Cover(
        "checks of a table against its query",
        ("engine/test_behaviour.py::TestEveryCheck",),
        (f"{_BEHAVIOUR}TestChecks", "engine/test_checks.py::test_rows_of_every_type_are_compared"),
    ),
    Cover(
        "ALTER and states of a table",
        ("engine/test_behaviour.py::TestEveryAlteration",),
        (
            f"{_BEHAVIOUR}TestAlterations",
            "engine/test_behaviour.py::TestAlterations",
            "processes/test_statements.py::test_two_changes_of_the_definition",
        ),
    ),
    Cover(
        "column lists and NOT NULL",
        ("engine/test_behaviour.py::TestEveryColumnList",),
        (f"{_BEHAVIOUR}TestColumnLists", "engine/test_behaviour.py::TestColumnLists"),
    ),
    Cover(
        "a statement that fails at any step leaves nothing half changed",
        ("engine/test_faults.py", "processes/test_sample_of_kills.py::test_a_client_is_killed"),
        (
            f"{_BEHAVIOUR}TestFaults",
            "engine/test_faults.py::test_a_directory_that_a_killed_create_left_is_taken_over",
            "processes/test_sample_of_kills.py::test_a_client_is_killed",
        ),
    ),
    Cover(
        "tables with a baseline",
        ("refreshes/test_baselines.py", "refreshes/test_baseline_oracle.py"),
        (
            "tests/unit/execution/test_baseline.py::TestBaselines",
            "tests/unit/execution/test_baseline.py::TestBaselineFaults",
            "refreshes/test_baselines.py::TestBaselines",
        ),
    ),
    Cover(
        "the log of refreshes",
        ("engine/test_jobs.py",),
        (
            f"{_BEHAVIOUR}TestJobs",
            "engine/test_jobs.py::TestJobs",
            "engine/test_jobs.py::test_a_table_and_its_refresh_are_registered_in_one_commit",
            "engine/test_leases.py::test_compaction_keeps_what_a_reader_may_need",
        ),
    ),
    Cover(
        "adoption and release",
        ("engine/test_adoption.py", "adapter/test_adopt.py", "adapter/test_moving.py"),
        (
            f"{_BEHAVIOUR}TestAdoption",
            "tests/unit/adapter/test_materialization.py",
            "engine/test_adoption.py::test_no_file_is_written",
            "adapter/test_adopt.py::TestThereAndBack",
        ),
    ),
    Cover(
        "results by the names of the sources' columns",
        (
            "refreshes/test_source_columns.py",
            "processes/test_sessions.py::test_columns_that_move_stay_in_their_columns",
        ),
        (
            f"{_BEHAVIOUR}TestSourceColumns",
            "tests/unit/resolution/test_source_columns.py",
            "refreshes/test_source_columns.py::TestSourceColumns",
        ),
    ),
    Cover(
        "hosted tables",
        ("streams/test_hosting.py", "streams/test_cascade.py"),
        (
            "tests/unit/hosting/test_hosted_table.py::TestHosting",
            (
                "tests/unit/hosting/test_hosted_table.py::"
                "test_small_files_are_merged_after_so_many_commits_while_the_table_is_busy"
            ),
            "streams/test_hosting.py::TestHosting",
            "streams/test_host_oracle.py::test_a_hosted_table_equals_its_query",
            "manager/test_manager.py::test_tables_follow_their_sources_each_by_its_own_engine",
        ),
    ),
    Cover(
        "start modes",
        ("streams/test_start_modes.py",),
        (
            "tests/unit/execution/test_start_modes.py::TestStartModes",
            "streams/test_start_modes.py::test_records_since_an_instant",
            "refreshes/test_source_changes.py::test_the_position_at_an_instant",
        ),
    ),
    Cover(
        "journeys of the design documents, on Spark and Delta",
        ("engine/test_journeys.py",),
        (
            "tests/unit/flips/test_journeys.py",
            "engine/test_journeys.py::TestFlip435Story",
            "engine/test_behaviour.py::TestAlterations",
            "refreshes/test_baselines.py::TestBaselines",
            (
                "engine/test_create_or_alter.py::"
                "test_appended_columns_and_a_changed_query_fill_the_table_in_one_commit"
            ),
            "engine/test_jobs.py::TestJobs",
            "refreshes/test_partition_refresh.py::test_the_filter_reaches_the_sources",
            "engine/test_replace.py::test_everything_is_new_but_the_identity",
            "engine/test_show_and_describe.py::test_desc",
        ),
    ),
    # Statements
    Cover(
        "queries that cannot be a table, and clauses that do not fit",
        ("engine/test_bad_queries.py",),
        (
            f"{_BEHAVIOUR}TestBehaviour",
            "engine/test_analyzer.py::test_errors_are_placed_within_the_query",
            "engine/test_analyzer.py::test_functions_that_change_the_result",
            "engine/test_bad_queries.py::test_a_query_over_temporary_objects",
        ),
    ),
    Cover(
        "keys and checks",
        ("engine/test_constraints.py",),
        (
            f"{_BEHAVIOUR}TestBehaviour",
            "tests/unit/planning/test_constraints.py",
            "engine/test_constraints.py::test_a_primary_key_at_create_and_refresh",
        ),
    ),
    Cover(
        "forms of CREATE, of names and of queries",
        ("engine/test_create.py",),
        (
            "tests/unit/statements/test_parser.py",
            "engine/test_analyzer.py::test_every_relation_gets_its_full_name",
            "engine/test_analyzer.py::test_three_hundred_columns_and_sixty_kilobytes",
            "engine/test_create.py::test_typed_column_list",
            "engine/test_create.py::test_partitioned_and_clustered",
            "engine/test_create.py::test_names_of_columns_that_need_column_mapping",
        ),
    ),
    Cover(
        "what counts as a change of a definition",
        ("engine/test_create_or_alter.py",),
        (
            "tests/unit/changes/test_differ.py",
            "tests/unit/changes/test_compatibility.py",
            "engine/test_create_or_alter.py::test_unchanged_commits_nothing",
            "engine/test_create_or_alter.py::test_metadata_follows_the_definition",
        ),
    ),
    Cover(
        "DROP of what others dropped or made",
        ("engine/test_drop.py",),
        (f"{_BEHAVIOUR}TestBehaviour", "engine/test_drop.py::test_drop"),
    ),
    Cover(
        "CREATE OR REPLACE",
        ("engine/test_replace.py",),
        (
            "tests/unit/planning/test_planner.py",
            f"{_CONTRACT}::test_a_replacement_brings_its_own_columns_and_keeps_the_identity",
            "engine/test_replace.py::test_everything_is_new_but_the_identity",
        ),
    ),
    Cover(
        "rows of SHOW, DESC and EXPLAIN",
        ("engine/test_show_and_describe.py",),
        (
            "tests/unit/execution/test_show.py",
            "tests/unit/planning/test_explain.py",
            "engine/test_show_and_describe.py::test_desc",
            "engine/test_show_and_describe.py::test_show_create_is_a_statement_that_changes_nothing",
        ),
    ),
    Cover(
        "the engine of a table",
        ("engine/test_engines.py",),
        (
            "tests/unit/strategies/test_stream.py",
            "tests/unit/strategies/test_choice.py",
            "engine/test_engines.py::test_the_engine_follows_from_sparks_plan",
        ),
    ),
    # Refreshes
    Cover(
        "when a refresh runs, and over which state of its sources",
        ("refreshes/test_refresh.py",),
        (
            f"{_BEHAVIOUR}TestBehaviour",
            f"{_REFRESH}test_a_source_without_versions_is_never_skipped",
            f"{_REFRESH}test_a_time_dependent_query_is_never_skipped",
            f"{_REFRESH}TestWithoutPins",
            "refreshes/test_pinning.py::test_a_refusal_has_its_reason",
            "refreshes/test_refresh.py::test_several_sources_are_read_in_one_state_while_they_change",
        ),
    ),
    Cover(
        "forms of queries that are read at versions of their sources",
        ("refreshes/test_pinning.py",),
        (
            "engine/test_analyzer.py::test_every_relation_gets_its_full_name",
            "refreshes/test_pinning.py::test_a_pinned_query_gives_what_it_gave_before",
            "engine/test_operator_trees.py::test_queries_of_tpch",
        ),
    ),
    Cover(
        "partitions of REFRESH and of scheduled runs",
        ("refreshes/test_partition_refresh.py",),
        (
            f"{_BEHAVIOUR}TestBehaviour",
            f"{_REFRESH}test_a_scheduled_run_writes_the_partitions_of_its_period",
            f"{_REFRESH}test_a_table_without_formatters_is_refreshed_whole",
            "refreshes/test_partition_refresh.py::test_the_filter_reaches_the_sources",
        ),
    ),
    Cover(
        "changes by others, RESTORE, VACUUM and clean-up of the log",
        ("refreshes/test_outside_changes.py", "refreshes/test_rollback.py"),
        (
            f"{_LOADER}test_other_columns_are_damage",
            f"{_LOADER}test_a_table_whose_properties_were_removed",
            f"{_LOADER}test_a_renamed_table_keeps_its_definition_under_the_new_name",
            f"{_HISTORY}test_restore_brings_rows_back_and_leaves_the_fence",
            f"{_HISTORY}test_after_a_restore_to_a_timestamp_only_the_fence_is_known",
            f"{_CONTRACT}::test_a_restore_names_the_version_that_it_brought_back",
            f"{_CONTRACT}::test_a_restore_does_not_lower_the_fence",
            f"{_LOADER}test_a_cleaned_log_leaves_the_definition_and_no_positions",
            f"{_REFRESH}test_a_log_that_was_cleaned_up_costs_one_refresh",
            f"{_HISTORY}test_a_log_that_was_cleaned_up_below_our_last_commits",
            f"{_CONTRACT}::test_commits_that_were_removed_are_gone_and_the_rest_is_there",
        ),
    ),
    Cover(
        "lag of a cascade",
        ("refreshes/test_lag.py",),
        ("tests/unit/execution/test_checks_lag.py", "engine/test_show_and_describe.py::test_lag"),
    ),
    Cover(
        "memory that a refresh used is released",
        ("refreshes/test_released.py",),
        (
            "refreshes/test_released.py::test_an_environment_needs_no_garbage_collector",
            "refreshes/test_released.py::test_a_private_session_needs_no_garbage_collector",
        ),
    ),
    Cover(
        "changes of sources, read from their logs",
        ("refreshes/test_source_changes.py",),
        (
            "tests/unit/spark/delta/test_changes.py",
            f"{_CONTRACT}::test_compaction_and_properties_change_no_row",
            f"{_CONTRACT}::test_what_was_deleted_was_removed",
            f"{_CONTRACT}::test_what_was_updated_was_removed_and_added",
            f"{_CONTRACT}::test_commits_that_were_removed_are_gone_and_the_rest_is_there",
            f"{_CONTRACT}::test_what_vacuum_removed_cannot_be_read_any_more",
            "refreshes/test_source_changes.py::test_appended_rows_are_read_from_their_files_alone",
            "refreshes/test_source_changes.py::test_marked_rows_are_those_by_which_the_files_differ",
        ),
    ),
    Cover(
        "sources whose columns change their types",
        ("refreshes/test_source_types.py",),
        (
            "tests/unit/execution/test_refresh_random_shapes.py",
            "tests/unit/spark/delta/test_schemas.py",
            (
                "tests/unit/strategies/test_choice.py::"
                "test_changes_of_sources_with_other_types_are_not_applied"
            ),
            f"{_REFRESH}test_a_commit_that_changes_only_metadata_makes_no_table_compute_its_rows",
            f"{_REFRESH}test_files_of_a_source_that_were_vacuumed_are_named_as_its_history",
            f"{_CONTRACT}::test_a_column_that_is_not_read_may_get_a_type_that_cannot_be_united",
            (
                "refreshes/test_source_types.py::"
                "test_a_view_that_is_made_again_with_the_same_text_over_other_types"
            ),
            "engine/test_private_sessions.py::test_a_query_has_the_confs_that_it_was_created_with",
        ),
    ),
    Cover(
        "CHAR, VARCHAR and collations",
        ("refreshes/test_text_types.py",),
        (
            "tests/unit/spark/query/test_row_merges.py::test_char_is_compared_as_it_is_read",
            "refreshes/test_text_types.py::test_char_follows_its_source",
            "refreshes/test_text_types.py::test_a_list_with_char_and_varchar_is_what_the_table_has",
        ),
    ),
    # Changes of results
    Cover(
        "the change of a result gives the rows of a recompute",
        (
            "refreshes/test_incremental.py",
            "refreshes/test_incremental.py::test_rows_are_those_of_the_query_after_any_change",
            "engine/test_operator_trees.py",
        ),
        (
            f"{_DIFFERENTIAL}test_rules",
            f"{_DIFFERENTIAL}test_random_cases",
            "tests/unit/query/test_partial_sums.py",
            "refreshes/test_incremental.py::test_rows_are_those_of_the_query_after_any_change",
            "refreshes/test_incremental.py::test_partial_sums_follow_the_sources",
            "refreshes/test_incremental.py::test_zeros_keep_their_sign",
            "engine/test_operator_trees.py::test_queries_of_tpch",
            "tests/unit/query/test_subqueries.py::test_forms_of_subqueries",
            "corpus/test_corpora.py::test_each_table_equals_its_query",
        ),
    ),
    Cover(
        "commits that change no row, keys of NULLs, aggregates over sorted rows",
        (
            "refreshes/test_incremental.py::test_commits_that_change_no_row_change_no_file",
            (
                "refreshes/test_incremental.py::"
                "test_a_key_of_nulls_that_is_neither_in_the_table_nor_in_its_new_rows"
            ),
            "refreshes/test_incremental.py::test_an_aggregate_that_spark_computes_over_sorted_rows",
        ),
        (
            (
                "tests/unit/spark/query/test_row_merges.py::"
                "test_keys_are_compared_with_null_and_taken_once"
            ),
            "tests/unit/spark/query/test_row_merges.py::test_no_condition_of_a_clause_is_null",
            f"{_CONTRACT}::test_compaction_and_properties_change_no_row",
            "engine/test_table_format.py::test_rows_of_keys_that_stay_the_same_are_not_written",
            "refreshes/test_incremental.py::test_only_changed_rows_are_written",
            "refreshes/test_kept_rows.py::test_rows_of_every_aggregate_can_be_read_again",
        ),
    ),
    Cover(
        "rows that are lost with their executor",
        (
            (
                "refreshes/test_incremental.py::"
                "test_rows_that_were_lost_with_their_executor_are_computed_again"
            ),
        ),
        (
            "tests/unit/execution/test_retries.py::test_attempts_are_counted",
            "tests/unit/spark/session/test_errors.py::test_predicates_go_by_condition",
        ),
    ),
    Cover(
        "sources with deletion vectors",
        (
            "refreshes/test_incremental.py::test_sources_with_deletion_vectors_and_with_a_change_data_feed",
        ),
        ("refreshes/test_incremental.py::test_rows_are_those_of_the_query_after_any_change",),
    ),
    Cover(
        "what leads to a recompute: large changes, changes by others, replaced sources",
        (
            "refreshes/test_incremental.py::test_a_large_change_and_changes_by_others_lead_to_a_recompute",
            "refreshes/test_incremental.py::test_a_change_that_cannot_be_applied_leads_to_a_recompute",
            "refreshes/test_incremental.py::test_a_replaced_and_a_recreated_source_are_read_whole",
            "refreshes/test_incremental.py::test_columns_of_files_are_computed_again",
            "refreshes/test_incremental.py::test_it_is_used_unless_it_is_switched_off",
        ),
        (
            f"{_STRATEGY}test_a_refresh_computes_all_rows_for_a_reason",
            f"{_STRATEGY}test_when_switched_off_nothing_is_printed",
            f"{_REFRESH}test_a_small_change_is_applied_and_a_large_one_is_not",
            f"{_REFRESH}test_rows_that_others_changed_are_computed_again",
            f"{_REFRESH}test_a_change_that_cannot_be_applied_leads_to_a_recompute",
            f"{_REFRESH}test_a_result_that_may_change_without_a_row_is_computed_after_any_commit",
            "refreshes/test_refresh.py::test_a_source_recreated_with_the_same_version_has_changed",
            "refreshes/test_incremental.py::test_a_writer_in_between_is_not_overlooked",
        ),
    ),
    Cover(
        "partial sums with other writers, and when they are gone",
        (
            "refreshes/test_incremental.py::test_partial_sums_that_are_ahead_gone_or_changed_by_others",
            "refreshes/test_incremental.py::test_of_two_refreshes_one_changes_the_partial_sums",
            (
                "refreshes/test_incremental_races.py::"
                "test_a_table_that_ends_while_its_partial_sums_are_stored"
            ),
        ),
        (
            "tests/unit/spark/tables/test_stored_sums.py",
            "tests/unit/query/test_partial_sums.py",
            "refreshes/test_incremental.py::test_partial_sums_follow_the_sources",
        ),
    ),
    Cover(
        "rows that others write during a refresh by changes",
        ("refreshes/test_incremental_races.py",),
        (
            f"{_CONTRACT}::test_of_equal_rows_as_many_are_removed_as_are_to_be",
            (
                "tests/unit/execution/test_table_history.py::"
                "test_changes_of_other_writers_during_a_computation_are_listed"
            ),
            f"{_CONTRACT}::test_another_table_of_the_name_has_another_identity_and_another_stamp",
            f"{_CONTRACT}::test_a_version_is_read_as_it_was",
            "refreshes/test_incremental.py::test_a_writer_in_between_is_not_overlooked",
        ),
    ),
    Cover(
        "kept rows of every type",
        ("refreshes/test_kept_rows.py",),
        (
            "tests/unit/spark/session/test_kept_rows.py",
            "refreshes/test_kept_rows.py::test_rows_of_every_aggregate_can_be_read_again",
            "refreshes/test_kept_rows.py::test_rows_of_every_plan_with_an_order_can_be_read_again",
        ),
    ),
    # The table format and stored formats
    Cover(
        "the contract of table formats over a log that jobs read, as over Spark Connect",
        ("engine/test_table_format.py::TestDeltaByJobs",),
        (_CONTRACT, "engine/test_long_logs.py::test_both_implementations_return_the_same"),
    ),
    Cover(
        "keys of every type, and more rows than a condition lists",
        ("engine/test_table_format.py",),
        (
            (
                "tests/unit/spark/delta/test_row_conditions.py::"
                "test_a_condition_lists_values_that_are_literals"
            ),
            (
                "engine/test_table_format.py::"
                "test_rows_of_every_type_are_found_where_delta_skips_files"
            ),
            (
                "engine/test_table_format.py::"
                "test_more_rows_than_a_condition_lists_are_changed_at_once"
            ),
        ),
    ),
    Cover(
        "tables that the driver reads and writes by the list of their files",
        ("refreshes/test_driver_tables.py",),
        (
            "refreshes/test_driver_tables.py::test_rows_are_written_by_one_job",
            "refreshes/test_driver_tables.py::test_files_keep_their_statistics",
            "refreshes/test_driver_tables.py::test_files_that_cannot_have_a_row_are_not_read",
        ),
    ),
    Cover(
        "bad input of the write that one scan prepares",
        ("refreshes/test_row_replacement.py",),
        (
            (
                "refreshes/test_row_replacement.py::test_what_others_do_between_the_scan_and_the_commit"
            ),
            "refreshes/test_row_replacement.py::test_more_rows_than_a_condition_lists",
            f"{_CONTRACT}WithDeletionVectors::test_null_is_a_value_of_a_key",
            f"{_CONTRACT}::test_a_change_of_rows_that_are_not_there_changes_nothing",
            "tests/unit/spark/delta/test_driver_tables.py",
        ),
    ),
    Cover(
        "stored texts of other releases",
        ("engine/test_stored_formats.py", "adapter/test_before_0_1.py"),
        (
            "tests/unit/formats/test_golden.py",
            f"{_LOADER}test_a_commit_that_cannot_be_read_makes_the_table_unreadable",
            f"{_LOADER}test_a_commit_that_cannot_be_read_and_was_rolled_back_only_hides_its_number",
            "engine/test_stored_formats.py::test_a_table_of_release_0_1",
            "engine/test_stored_formats.py::test_a_commit_that_cannot_be_read",
            "engine/test_stored_formats.py::test_a_registry_of_release_0_1",
        ),
    ),
    Cover(
        "the view of jobs of another release",
        ("engine/test_leases.py",),
        (
            "tests/unit/spark/registry/test_system_table.py",
            "engine/test_leases.py::test_the_view_shows_running_jobs_of_the_manager_of_the_catalog",
        ),
    ),
    Cover(
        "examples of the Python API",
        ("engine/test_python_examples.py",),
        (
            "tests/unit/test_api.py",
            "engine/test_python_examples.py::test_the_example_runs_and_leaves_its_tables",
        ),
    ),
    # Streams
    Cover(
        "sources of streams, by offsets and by instants",
        ("streams/test_sources.py", "streams/test_kafka_tables.py"),
        (
            "tests/unit/spark/query/test_offsets.py",
            "streams/test_sources.py::test_kafka_at_rest_and_as_a_stream",
            "streams/test_sources.py::test_kafka_reports_expired_records",
            "streams/test_kafka_tables.py::test_records_added_to_the_topic_are_added",
            "streams/test_start_modes.py::test_records_since_an_instant",
        ),
    ),
    Cover(
        "Kafka under a host",
        ("streams/test_kafka_hosting.py",),
        (
            "tests/unit/hosting/test_hosted_table.py::test_a_stream_whose_next_records_expired",
            "streams/test_kafka_hosting.py::test_every_record_arrives_once",
            (
                "streams/test_kafka_tables.py::"
                "test_what_a_topic_has_dropped_is_not_lost_by_another_query"
            ),
        ),
    ),
    Cover(
        "streams that keep state, process functions, and STREAM",
        (
            "streams/test_stateful.py",
            "streams/test_process_functions.py",
            "streams/test_only_streams.py",
        ),
        (
            "tests/unit/strategies/test_stream_process_functions.py",
            "tests/unit/strategies/test_stream_state.py",
            "streams/test_stateful.py::test_groups_are_kept_by_state",
            "streams/test_stateful.py::test_files_are_read_once",
            "streams/test_sources.py::test_generated_rows_are_streams_only",
            "streams/test_kafka_hosting.py::test_every_record_arrives_once",
            "engine/test_engines.py::test_the_engine_follows_from_sparks_plan",
        ),
    ),
    # Processes and the manager
    Cover(
        "statements of several processes",
        ("processes/test_statements.py", "processes/test_dbt.py"),
        (
            "processes/test_statements.py::test_two_writers_with_the_same_fence",
            "processes/test_statements.py::test_two_changes_of_the_definition",
            "processes/test_statements.py::test_two_creators",
        ),
    ),
    Cover(
        "no secret and no port is visible to others",
        ("processes/test_open_to_others.py",),
        (
            "tests/unit/cli/test_session.py",
            (
                "processes/test_open_to_others.py::"
                "test_a_run_of_dbt_with_python_workers_shows_no_secret_and_no_port"
            ),
            "tests/unit/spark/launch/test_listeners.py",
            "adapter/test_session.py::TestDebug",
            "processes/test_open_to_others.py::test_a_manager_shows_no_secret_and_no_port",
        ),
    ),
    Cover(
        "a manager that stops, and a client that is killed",
        ("processes/test_serving.py",),
        (
            "tests/unit/client/test_liveness.py",
            "processes/test_serving.py::test_a_manager_that_stops_during_a_statement_is_named",
            "tests/unit/client/test_target.py::test_a_manager_that_does_not_answer_is_named",
            "processes/test_serving.py::test_ctrl_c_ends_all_threads_and_what_they_run",
            "processes/test_serving.py::test_dbt_works_in_the_spark_of_the_manager",
            "processes/test_plain_sql.py::test_two_clients_have_schemas_and_views_of_their_own",
        ),
    ),
    Cover(
        "standard error of statements that are refused",
        ("processes/test_standard_error.py",),
        (
            "tests/unit/spark/session/test_errors_unlogged.py",
            "processes/test_plain_sql.py::test_an_error_over_connect",
            "processes/test_standard_error.py::test_over_connect",
        ),
    ),
    Cover(
        "the commands of a project without a manager",
        ("processes/test_command_line.py",),
        (
            "tests/unit/cli/test_main.py",
            "tests/unit/cli/test_refresh.py",
            "tests/unit/cli/test_sql.py",
            "tests/unit/cli/test_status_table.py",
            "refreshes/test_refresh.py::test_it_runs_when_a_source_has_moved",
            "processes/test_plain_sql.py::test_the_life_of_a_table",
        ),
    ),
    Cover(
        "rows of the query that are compared after a refresh, and after others changed something",
        ("refreshes/test_verification.py",),
        (
            "tests/unit/execution/test_verification.py",
            "streams/test_hosting.py::test_a_batch_that_differs_is_found_and_repaired",
            "refreshes/test_verification.py::test_a_wrong_rule_is_found_and_repaired",
            f"{_CONTRACT}::test_what_vacuum_removed_cannot_be_read_any_more",
        ),
    ),
    Cover(
        "seeds whose dbt is killed, and seeds that a manager follows",
        ("processes/test_seeds.py",),
        (
            "tests/unit/adapter/test_seeds.py",
            "adapter/test_seeds.py::TestSeedUnderATable",
            "processes/test_sample_of_kills.py::test_a_client_is_killed",
        ),
    ),
    Cover(
        "the demo with a manager that is killed",
        ("examples/test_demo.py",),
        (
            "examples/test_demo.py::test_each_live_flight_is_counted_once",
            "manager/test_manager.py::test_the_registry_keeps_handlers_for_the_next_manager",
            "processes/test_serving.py::test_dbt_works_in_the_spark_of_the_manager",
        ),
    ),
    Cover(
        "what a manager shows and does besides following",
        ("manager/test_manager.py",),
        (
            "tests/unit/manager/test_reconciler.py",
            "tests/unit/manager/test_runs_scheduled.py",
            "tests/unit/manager/test_table_views.py",
            "tests/unit/execution/test_checks_lag.py",
            "tests/unit/manager/test_background.py",
            "tests/unit/manager/test_buffered_log_writes.py",
            "streams/test_hosting.py::test_a_busy_table_has_few_files",
            (
                "manager/test_manager.py::"
                "test_a_refresh_answers_at_once_and_its_name_works_in_desc_job"
            ),
        ),
    ),
    Cover(
        "a start from the archive of classes",
        ("processes/test_class_archive.py",),
        ("tests/unit/spark/launch/test_class_archive.py",),
    ),
    # dbt
    Cover(
        "dbt's own adapter tests",
        (
            "adapter/test_aliases.py",
            "adapter/test_basic.py",
            "adapter/test_caching.py",
            "adapter/test_concurrency.py",
            "adapter/test_constraints.py",
            "adapter/test_data_types.py",
            "adapter/test_dbt_clone.py",
            "adapter/test_dbt_show.py",
            "adapter/test_empty.py",
            "adapter/test_ephemeral.py",
            "adapter/test_functions.py",
            "adapter/test_hooks.py",
            "adapter/test_incremental.py",
            "adapter/test_persist_docs.py",
            "adapter/test_query_comment.py",
            "adapter/test_relations.py",
            "adapter/test_simple_seed.py",
            "adapter/test_simple_snapshot.py",
            "adapter/test_source_freshness.py",
            "adapter/test_store_test_failures.py",
            "adapter/test_unit_testing.py",
            "adapter/test_utils.py",
        ),
        (
            "tests/unit/adapter/test_plain_tables.py",
            "tests/unit/adapter/test_seeds.py",
            "adapter/test_basic.py::TestSimpleMaterializations",
            "adapter/test_functions.py::TestFunctionsOfModels",
            "adapter/test_followed_relations.py::TestTables",
            "adapter/test_seeds.py::TestSeedUnderATable",
            "adapter/test_source_freshness.py::TestFreshnessByCommits",
        ),
    ),
    Cover(
        "a relation of another kind that a model replaces",
        ("adapter/test_followed_relations.py",),
        (
            "tests/unit/adapter/test_plain_tables.py",
            "adapter/test_followed_relations.py::TestTables",
            "adapter/test_switching.py::TestSwitching",
        ),
    ),
    Cover(
        "operations on many models",
        ("adapter/test_generic_tests.py",),
        (
            "tests/unit/adapter/test_run_operations.py",
            "adapter/test_generic_tests.py::TestGenericTests",
            "adapter/test_plan.py::TestPlan",
        ),
    ),
    Cover(
        "configs of seeds: types, partitions, locations, formats",
        ("adapter/test_seeds.py",),
        (
            "tests/unit/adapter/test_seeds.py",
            "adapter/test_seeds.py::TestSeedUnderATable",
            "adapter/test_session.py::TestSeeds",
        ),
    ),
    Cover(
        "configs of materialized tables, `--empty`, suspended tables, types of texts",
        ("adapter/test_materialized_table.py",),
        (
            "tests/unit/adapter/test_config_freshness.py",
            "tests/unit/adapter/test_materialization.py::test_the_decision",
            (
                "tests/unit/execution/test_operations.py::"
                "test_a_suspended_table_is_altered_and_its_rows_stay"
            ),
            "adapter/test_generic_tests.py::TestGenericTests",
            "adapter/test_materialized_table.py::TestConfig",
            "refreshes/test_text_types.py::test_a_list_with_char_and_varchar_is_what_the_table_has",
        ),
    ),
    Cover(
        "dbt's tests of materialized views, for materialized tables",
        ("adapter/test_materialized_view.py",),
        (
            "tests/unit/adapter/test_materialization.py",
            "adapter/test_plan.py::TestPlan",
            "adapter/test_materialized_table.py::TestLife",
        ),
    ),
    Cover(
        "Python models",
        ("adapter/test_python_in_process.py", "adapter/test_python_model.py"),
        (
            "tests/unit/adapter/test_python_models.py",
            "adapter/test_python_in_process.py::TestFrames",
            "adapter/test_python_model.py::TestPythonIncremental",
        ),
    ),
    Cover(
        "plain SQL of JDBC and of dbt-spark",
        ("processes/test_plain_sql.py", "processes/test_dbt_package.py"),
        (
            "tests/unit/spark/parser/test_hook.py",
            "processes/test_plain_sql.py::test_the_life_of_a_table",
        ),
    ),
    Cover(
        "plain SQL whose client or manager ends in the middle",
        ("processes/test_plain_sql_ends.py",),
        (
            "tests/unit/manager/test_requests.py",
            "tests/unit/spark/parser/test_answers.py::test_a_process_that_stops_refuses",
            "processes/test_plain_sql.py::test_an_interrupt_ends_the_refresh",
            "processes/test_sample_of_kills.py::test_a_client_is_killed",
        ),
    ),
)


def marked() -> dict[str, set[str]]:
    """Return what CI leaves out: names of tests and classes, wholly or in part, by file."""
    found: dict[str, set[str]] = {}
    for path in sorted(FUNCTIONAL.glob("*/test_*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if names := set(_marked(tree.body, is_whole=_is_file_marked(tree))):
            found[str(path.relative_to(FUNCTIONAL))] = names
    return found


def _is_file_marked(tree: ast.Module) -> bool:
    return any(
        isinstance(node, ast.Assign)
        and [ast.unparse(target) for target in node.targets] == ["pytestmark"]
        and "conformance" in ast.unparse(node.value)
        for node in tree.body
    )


def _marked(body: list[ast.stmt], *, is_whole: bool, of: str = "") -> Iterator[str]:
    for node in body:
        if not isinstance(node, ast.FunctionDef | ast.ClassDef):
            continue
        if not node.name.startswith(("test_", "Test")):
            continue
        decorators = [ast.unparse(each) for each in node.decorator_list]
        if is_whole or any(mark in each for mark in _MARKS for each in decorators):
            yield f"{of}{node.name}"
        elif isinstance(node, ast.ClassDef):
            yield from _marked(node.body, is_whole=False, of=f"{node.name}::")


def section() -> list[str]:
    """Return the lines of the page that lists what covers the rules in CI."""
    return [
        "## What CI leaves to `make conformance`",
        "",
        (
            "CI runs a core of each functional suite. The second column names what only "
            "`make conformance` runs: all that is marked in a file, or the tests that are named. "
            "The third column names the tests in CI that check the same rule. Paths begin at "
            "`tests/functional/`, or at `tests/`. A unit test compares this table with the marks."
        ),
        "",
        "| rule | only in `make conformance` | in CI |",
        "|---|---|---|",
        *(f"| {row.rule} | {_listed(row.left)} | {_listed(row.by)} |" for row in COVERS),
    ]


BEFORE = {
    "tests/functional/engine/": (400, 1_680),
    "tests/functional/processes/": (30, 800),
    "tests/functional/adapter/": (118, 481),
    "tests/functional/corpus/": (9, 396),
    "tests/functional/streams/": (22, 355),
    "tests/unit": (8_079, 300),
}
"""Tests and seconds of the longest suites on 2026-11-27, before CI ran cores only."""


def profile() -> list[str]:
    """Return the lines of the page that say where the time of CI goes."""
    found = recorded()
    lines = [
        "## Where the time of CI goes",
        "",
        (
            "`make ci` runs its jobs in lanes. `make record` writes the figures of the last "
            "run into this page, and into `tools/durations.json`, by which lanes order their "
            "jobs. *Before* is the run of 2026-11-27, before CI was reduced to cores. It took "
            "2,905 s in all, with set-up, lint, types, the package, the site and the newest dbt "
            "one after another; `engine/` and `refreshes/` were one suite."
        ),
        "",
        "| job | tests before | seconds before | tests | seconds | CPU seconds of tests |",
        "|---|---|---|---|---|---|",
    ]
    for job in dict.fromkeys((*found, *BEFORE)):
        before = BEFORE.get(job, ("", ""))
        now = [found.get(job, {}).get(key, "") for key in ("tests", "seconds", "cpu")]
        lines.append(f"| `{job}` | {' | '.join(map(_figure, (*before, *now)))} |")
    return lines


def _figure(value: object) -> str:
    return f"{value:,}" if isinstance(value, int) else str(value)


def _listed(tests: tuple[str, ...]) -> str:
    """Name tests, those of one file after another without its path."""
    found, last = [], ""
    for test in tests:
        file, _, name = test.partition("::")
        found.append(f"`{name}`" if file == last else f"`{test}`")
        last = file
    return ", ".join(found)
