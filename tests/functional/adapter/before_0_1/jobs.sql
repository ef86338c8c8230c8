CREATE OR REPLACE VIEW `spark_catalog`.materialized_table_system.jobs AS 
SELECT latest.job_id AS job_id, concat_ws('.', latest.schema_name, latest.table_name) AS `table`,
  latest.job_kind AS kind,
  CASE WHEN latest.status = 'RUNNING' AND lease IS NULL AND latest.recorded_at_ms < now_ms - CASE WHEN get_json_object(latest.facts, '$.request') IS NOT NULL THEN 86400000 WHEN latest.job_kind = 'CONTINUOUS' THEN 180000 ELSE 60000 END
    THEN IF(get_json_object(latest.facts, '$.request') IS NOT NULL, 'CANCELED', 'FAILED') ELSE latest.status END AS status,
  timestamp_millis(latest.started_at_ms) AS start_time,
  timestamp_millis(latest.ended_at_ms) AS end_time,
  latest.rows AS `rows`, latest.error AS error, latest.trigger AS trigger,
  latest.owner_user AS owner_user, latest.owner_host AS owner_host, latest.owner_pid AS owner_pid,
  timestamp_millis(latest.recorded_at_ms) AS heard_at
FROM (
  SELECT max_by(struct(*), struct(recorded_at_ms, status <> 'RUNNING')) AS latest,
    unix_millis(current_timestamp()) AS now_ms
  FROM `spark_catalog`.materialized_table_system.registry WHERE kind = 'JOB' GROUP BY job_id
) 
LEFT JOIN (
  SELECT max_by(struct(*), struct(seq, recorded_at_ms, status)) AS lease FROM `spark_catalog`.materialized_table_system.leases
) ON lease.status = 'HELD' AND (get_json_object(latest.facts, '$.request') IS NOT NULL
  OR lease.owner_host = latest.owner_host AND lease.owner_pid = latest.owner_pid
  AND lease.owner_process = latest.owner_process)

WHERE latest.recorded_at_ms >= now_ms - 2592000000
