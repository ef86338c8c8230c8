"""Kubernetes manifests in deploy/: schemas, and what they have in common with code and image."""

from __future__ import annotations

import copy
import re
from pathlib import Path, PurePosixPath

import kubernetes_validate
import pytest
import yaml

from dbt.adapters.spark_mt.cli import options
from dbt.adapters.spark_mt.cli.main import commands
from dbt.adapters.spark_mt.cli.options import SparkChoice, place_of
from dbt.adapters.spark_mt.definition import conditions
from dbt.adapters.spark_mt.manager.http.auth import (
    HEALTH,
    Access,
    AccessRules,
)
from dbt.adapters.spark_mt.manager.views import Health
from dbt.adapters.spark_mt.spark.launch.session import embedded_metastore
from tests.support.errors import raises
from tests.unit.deploy.files import (
    DEPLOY,
    DOCKERFILE,
    ENVIRONMENT,
    MANIFESTS,
    ROOT,
    seconds_to_stop,
    token_file,
)
from tests.unit.manager.http.client import TOKEN, Client

VERSIONS = ("1.30", "1.37")
"""Of Kubernetes: the oldest one that is checked, and the newest one whose schemas are pinned."""
POD = MANIFESTS["Deployment"]["spec"]["template"]["spec"]
(MANAGER,) = POD["containers"]
PROBES = {name: MANAGER[name] for name in ("startupProbe", "livenessProbe", "readinessProbe")}
(PORT,) = MANAGER["ports"]
MOUNTS = {each["name"]: each["mountPath"] for each in MANAGER["volumeMounts"]}
VOLUMES = {each["name"]: each for each in POD["volumes"]}
VARIABLES = {each["name"]: each["value"] for each in MANAGER["env"]}
GIVEN = DOCKERFILE.served(*MANAGER["args"])
UNITS = {"Mi": 2**20, "Gi": 2**30}


def size(quantity: str) -> int:
    """The bytes of a quantity of Kubernetes."""
    (number, unit) = re.findall(r"^(\d+)(Mi|Gi)$", quantity)[0]
    return int(number) * UNITS[unit]


def below(path: str | Path | None, folder: str) -> bool:
    return path is not None and PurePosixPath(path).is_relative_to(folder)


def test_there_is_one_manifest_of_each_kind():
    assert len(MANIFESTS) == len(list((DEPLOY / "kubernetes").iterdir())) == 6


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("kind", MANIFESTS)
def test_a_manifest_has_the_schema_of_its_kind(kind, version):
    """The strict one, which refuses keys that it does not know."""
    kubernetes_validate.validate(MANIFESTS[kind], version, strict=True)
    wrong = copy.deepcopy(MANIFESTS[kind])
    wrong["metadata"]["label"] = {}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, version, strict=True)


def test_the_page_names_the_versions():
    page = (ROOT / "docs" / "operating.md").read_text(encoding="utf-8")
    assert f"schemas of Kubernetes {' and '.join(VERSIONS)}," in page


def test_the_manifests_refer_to_each_other():
    labels = MANIFESTS["Deployment"]["spec"]["template"]["metadata"]["labels"]
    names = {kind: manifest["metadata"]["name"] for kind, manifest in MANIFESTS.items()}
    assert MANIFESTS["Deployment"]["spec"]["selector"]["matchLabels"] == labels
    assert MANIFESTS["Service"]["spec"]["selector"] == labels
    assert MANIFESTS["NetworkPolicy"]["spec"]["podSelector"]["matchLabels"] == labels
    assert VOLUMES["data"]["persistentVolumeClaim"]["claimName"] == names["PersistentVolumeClaim"]
    assert VOLUMES["profile"]["configMap"]["name"] == names["ConfigMap"]
    assert VOLUMES["token"]["secret"]["secretName"] == names["Secret"]
    assert VOLUMES.keys() == MOUNTS.keys()


def test_every_port_is_that_of_the_manager():
    (service,) = MANIFESTS["Service"]["spec"]["ports"]
    (rule,) = MANIFESTS["NetworkPolicy"]["spec"]["ingress"]
    assert PORT["containerPort"] == GIVEN["port"] == service["port"]
    assert service["targetPort"] == PORT["name"]
    assert rule == {"ports": [{"protocol": "TCP", "port": PORT["name"]}]}
    assert {probe["httpGet"]["port"] for probe in PROBES.values()} == {PORT["name"]}


def test_spark_connect_is_served_to_the_pod_alone():
    """It listens where the page does; only the port of the page is allowed for others."""
    assert GIVEN["connect"] is True
    assert GIVEN["connect_port"] != GIVEN["port"]
    assert MANIFESTS["NetworkPolicy"]["spec"]["policyTypes"] == ["Ingress"]


def test_the_token_comes_from_the_secret():
    """All of the group can read the file, others cannot: the manager would report that."""
    (key,) = MANIFESTS["Secret"]["stringData"]
    mode = VOLUMES["token"]["secret"]["defaultMode"]
    assert token_file(GIVEN["words"]) == f"{MOUNTS['token']}/{key}"
    assert POD["securityContext"]["fsGroup"] == POD["securityContext"]["runAsGroup"]
    assert mode & 0o040
    assert not mode & options._OTHERS


def test_a_manager_refuses_the_token_of_the_manifest():
    with raises(conditions.WEAK_TOKEN):
        Access(AccessRules(host=GIVEN["host"], token=MANIFESTS["Secret"]["stringData"]["token"]))


def test_the_user_is_that_of_the_image():
    security = POD["securityContext"]
    assert security["runAsNonRoot"] is True
    assert str(security["runAsUser"]) == DOCKERFILE.one("USER")


def test_variables_exist():
    """What reads the variable of the logs is shown by the next test."""
    assert VARIABLES.keys() <= {*ENVIRONMENT, "DBT_LOG_PATH"}


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The profile of the ConfigMap, as the manager reads it in a project of the same name."""
    for name in ("SPARK_HOME", "SPARK_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("DBT_LOG_PATH", VARIABLES["DBT_LOG_PATH"])
    ((file, text),) = MANIFESTS["ConfigMap"]["data"].items()
    (tmp_path / file).write_text(text, encoding="utf-8")
    (profile,) = yaml.safe_load(text)
    (tmp_path / "dbt_project.yml").write_text(f"profile: {profile}\n", encoding="utf-8")
    return place_of(SparkChoice(project_dir=tmp_path, profiles_dir=tmp_path))


def test_files_that_a_new_pod_needs_are_on_the_volume(place):
    warehouse = place.confs["spark.sql.warehouse.dir"]
    metastore = embedded_metastore(place.confs, place.home)
    assert all(below(path, MOUNTS["data"]) for path in (warehouse, metastore, place.log_folder))
    assert MOUNTS["data"] == DOCKERFILE.volume
    assert place.method == "auto", "dbt works in the manager of the same metastore"


def test_the_profile_is_where_the_manager_reads_it():
    (variable,) = [p.envvar for p in commands.commands["serve"].params if p.name == "profiles_dir"]
    assert VARIABLES[variable] == MOUNTS["profile"]


def test_an_embedded_metastore_has_one_manager(place):
    """The old pod ends before the new one starts, and there is no standby."""
    deployment = MANIFESTS["Deployment"]["spec"]
    assert embedded_metastore(place.confs, place.home) is not None
    assert (deployment["replicas"], deployment["strategy"]["type"]) == (1, "Recreate")
    assert MANIFESTS["PersistentVolumeClaim"]["spec"]["accessModes"] == ["ReadWriteOnce"]


STARTING = Health(is_alive=True, is_ready=False, problems=("the catalog was not looked at yet",))


@pytest.mark.parametrize(
    ("health", "live", "ready"),
    [
        (STARTING, 200, 503),
        (Health(is_alive=True, is_ready=True), 200, 200),
        (Health(is_alive=False, is_ready=False, problems=("stopping",)), 503, 503),
    ],
)
def test_probes_are_answered_without_a_token(health, live, ready):
    """By the pod's address, at which no name of the manager is configured."""
    client = Client(rules=AccessRules(host=GIVEN["host"], token=TOKEN))
    client.manager.become(health)
    found = {}
    for name, probe in PROBES.items():
        path = probe["httpGet"]["path"]
        assert path in HEALTH
        found[name] = client.get(path, headers={"host": f"10.0.0.7:{GIVEN['port']}"}).status_code
    assert found == {"startupProbe": live, "livenessProbe": live, "readinessProbe": ready}


def test_spark_has_the_time_to_start():
    """No probe is answered until it has; the image's own health check gives it two minutes."""
    (grace,) = re.findall(r"--start-period=(\d+)s", DOCKERFILE.one("HEALTHCHECK"))
    startup = PROBES["startupProbe"]
    assert startup["periodSeconds"] * startup["failureThreshold"] >= int(grace)


def test_the_manager_has_the_time_to_stop():
    assert POD["terminationGracePeriodSeconds"] >= seconds_to_stop(GIVEN)


def test_resources_fit_what_was_measured(place):
    """The resident memory of JVM and Python, with the heap that was measured."""
    page = (ROOT / "docs" / "benchmarks.md").read_text(encoding="utf-8")
    table = page.partition("| resident MB, JVM + Python |")[2].partition("\n\n")[0]
    rows = re.findall(r"\| ([\d,]+) \+ (\d+) \|", table)
    most = max(int(jvm.replace(",", "")) + int(python) for jvm, python in rows)
    resources = MANAGER["resources"]
    assert most * 2**20 <= size(resources["requests"]["memory"])
    assert size(resources["requests"]["memory"]) < size(resources["limits"]["memory"])
    assert place.confs["spark.driver.memory"] == "1g"
