"""Where a driver listens by which confs, and what is said of it."""

from __future__ import annotations

import pytest

from dbt.adapters.spark_mt.spark.launch.listeners import (
    Listener,
    exposure,
    network_confs,
    network_variables,
)

HOST, BIND = "spark.driver.host", "spark.driver.bindAddress"
NEAR = {HOST: "127.0.0.1", BIND: "127.0.0.1"}
ASKING = {"spark.authenticate": "true", "spark.network.crypto.enabled": "true"}


def confs(master=None, environment=None, **known):
    given = {key.replace("_", "."): value for key, value in known.items()}
    return network_confs(
        given if master is None else {**given, "spark.master": master}, environment or {}
    )


@pytest.mark.parametrize(
    "master", [None, "local", "local[*]", "local[2,3]", "local-cluster[1,1,1]"]
)
def test_a_local_driver_listens_on_loopback(master):
    assert confs(master) == NEAR


@pytest.mark.parametrize("address", ["127.0.0.1", "localhost", "::1", "[::1]"])
@pytest.mark.parametrize("conf", ["spark.driver.host", "spark.driver.bindAddress"])
def test_loopback_that_the_user_chose_stays(conf, address):
    assert network_confs({conf: address}, {}) == {}


@pytest.mark.parametrize("conf", ["spark.driver.host", "spark.driver.bindAddress"])
@pytest.mark.parametrize("address", ["0.0.0.0", "10.0.0.7", "driver.example.org", "::"])  # noqa: S104 - opened by the user
def test_an_address_that_the_user_opens_asks_for_a_secret(conf, address):
    assert network_confs({conf: address}, {}) == ASKING


@pytest.mark.parametrize("variable", ["SPARK_LOCAL_IP", "SPARK_LOCAL_HOSTNAME"])
def test_variables_of_the_user_count_as_well(variable):
    assert confs(environment={variable: "10.0.0.7"}) == ASKING
    assert confs(environment={variable: "127.0.0.1"}) == {}


@pytest.mark.parametrize("master", ["yarn", "k8s://https://10.0.0.1:6443"])
def test_executors_elsewhere_get_a_secret_where_spark_gives_it_to_them(master):
    assert confs(master) == ASKING
    assert confs(master, spark_shuffle_service_enabled="true") == {}
    assert confs(master, spark_authenticate="false") == {}
    assert confs(master, **{"spark.network.crypto.enabled": "false"}) == {
        "spark.authenticate": "true"
    }


def test_a_standalone_cluster_would_have_to_know_the_secret():
    assert confs("spark://master:7077") == {}


def test_sparks_page_is_on_loopback_where_executors_are_local():
    assert network_variables({}, {}) == {"SPARK_LOCAL_IP": "127.0.0.1"}
    assert network_variables({}, {"SPARK_LOCAL_IP": "10.0.0.7"}) == {}
    assert network_variables({"spark.master": "yarn"}, {}) == {}


def test_open_addresses_are_reported():
    near = Listener("a", "127.0.0.1", 1)
    asking = Listener("b", "0.0.0.0", 2, "a token")  # noqa: S104 - as below
    far = Listener("c", "0.0.0.0", 3)  # noqa: S104 - what is tested
    assert exposure([near, asking]) == ""
    said = exposure([near, asking, far])
    assert "c on 0.0.0.0:3" in said
    assert "b on" not in said
    assert str(near) == "a on 127.0.0.1:1 (this machine only, no authentication)"
    assert str(asking) == "b on 0.0.0.0:2 (other machines, a token)"
