"""Work on shards in the processes of a Ray cluster, on this machine or on many.

The shards are the rows of a Ray dataset, and workers are actors that map them. Ray Data gives a shard to any free
worker; if a worker dies, Ray starts another, which does the shard again. What workers read and write does not travel.
"""

import logging
import os
import secrets
import tempfile
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib import import_module
from math import ceil
from typing import Any

from discotree.errors import DiscotreeError, requires_extra
from discotree.integrations.bulk.plan import Shard
from discotree.integrations.bulk.work import BulkTask, ShardOutcome, ShardWorker

MAX_BLOCKS = 10_000  # per dataset: each costs the scheduler some milliseconds
OBJECT_STORE_BYTES = 2**27  # Ray's shared memory on this machine

LOOPBACK = "127.0.0.1"
LOOPBACK_VARIABLE = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"  # 0: the address above is taken as it is, on Linux as well

notices = logging.getLogger("discotree")


@dataclass(frozen=True)
class Cluster:
    """Where workers run: on a Ray cluster or on this machine; and what each of them gets."""

    address: str = ""
    workers: int | None = None  # None: as many as fit
    cpus: float = 1.0
    gpus: float | None = None  # None: one if there are any


class RayWorker:
    """A worker as Ray Data wants it: a dict in, a dict out."""

    def __init__(self, task: BulkTask, device: str, threads: int) -> None:
        self.worker = ShardWorker(task, device, threads)

    def __call__(self, row: dict[str, Any]) -> dict[str, Any]:
        return self.worker(Shard(**row))._asdict()


def on_ray(task: BulkTask, shards: Sequence[Shard], cluster: Cluster) -> Generator[ShardOutcome, None, None]:
    """Work on shards in a cluster; yield the outcomes as they come."""
    _configure_ray(is_private=not cluster.address)
    with requires_extra("ray"):
        ray, data = import_module("ray"), import_module("ray.data")
    with _connected(ray, cluster) as resources:
        gpus = float(resources.get("GPU", 0) > 0) if cluster.gpus is None else cluster.gpus
        room = int(resources.get("GPU", 0) / gpus if gpus else resources.get("CPU", 0) / cluster.cpus)
        workers = room if cluster.workers is None else cluster.workers
        if room < 1:
            if not cluster.address:
                raise DiscotreeError(f"there is no room for a worker of {cluster.cpus:g} cores and {gpus:g} GPUs here")
            notices.warning("the cluster has no room for a worker of %g cores and %g GPUs yet", cluster.cpus, gpus)
        data.DataContext.get_current().enable_progress_bars = False
        rows = data.from_items([asdict(shard) for shard in shards], override_num_blocks=min(len(shards), MAX_BLOCKS))
        outcomes = rows.map(
            RayWorker,
            fn_constructor_args=(task, "cuda" if gpus else "cpu", max(1, int(cluster.cpus))),
            compute=data.ActorPoolStrategy(size=max(1, min(workers, len(shards))), max_tasks_in_flight_per_actor=1),
            **({"num_gpus": gpus} if gpus else {"num_cpus": cluster.cpus}),
        )
        try:
            for row in outcomes.iter_rows():
                yield ShardOutcome(**row)
        except ray.exceptions.RayError as error:
            raise DiscotreeError(f"a worker has failed: {str(error).strip().splitlines()[-1]}") from None


def _configure_ray(is_private: bool) -> None:
    """Set what Ray takes from the environment, some of it when it is imported; what the user has set stays.

    A private cluster is out of reach of other machines, and of other users here who do not have its token.
    """
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # send no usage statistics
    os.environ.setdefault("RAY_BACKEND_LOG_LEVEL", "fatal")
    if is_private:
        os.environ.setdefault(LOOPBACK_VARIABLE, "0")
        os.environ.setdefault("RAY_AUTH_MODE", "token")
        if "RAY_AUTH_TOKEN_PATH" not in os.environ:
            os.environ.setdefault("RAY_AUTH_TOKEN", secrets.token_hex(32))


@contextmanager
def _connected(ray: Any, cluster: Cluster) -> Iterator[dict[str, float]]:
    """Connect to a cluster and yield its resources. One on this machine is private and ends with the block."""
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)  # its exceptions are enough
    options: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR}
    with tempfile.TemporaryDirectory(prefix="ray-", ignore_cleanup_errors=True) as folder:
        if not cluster.address:
            cores = cluster.workers and ceil(cluster.workers * cluster.cpus)  # may exceed the real cores
            options |= {"num_cpus": cores, "object_store_memory": OBJECT_STORE_BYTES}
            options |= {"include_dashboard": False, "_temp_dir": folder, "_node_ip_address": LOOPBACK}
        try:
            ray.init(cluster.address or "local", **options)
        except (OSError, RuntimeError, ValueError) as error:
            raise DiscotreeError(f"Ray: {error}") from None
        try:
            yield ray.cluster_resources()
        finally:
            ray.shutdown()
