"""Settings without the paths of the machine that trained a model."""

from dataclasses import replace
from pathlib import PureWindowsPath

from discotree.config import HF, Config, DataSource, NetworkSettings

UNNAMED = "encoder"  # stands for a Transformer whose path says nothing but where it is


def public(settings: Config) -> Config:
    """Return the settings of a model that is shared: every path is relative and stays inside its folder."""
    data = settings.data
    return replace(
        settings,
        data=replace(
            data,
            folder="",
            splits=bare(data.splits),
            heads=bare(data.heads),
            predicted_tags=bare(data.predicted_tags),
            vectors=bare(data.vectors),
            train=_public_sources(data.train),
            dev=_public_sources(data.dev),
            test=_public_sources(data.test),
        ),
        network=replace(settings.network, encoder=_bare_encoder(settings.network)),
        training=replace(settings.training, start=bare(settings.training.start)),
    )


def bare(path: str) -> str:
    """Return a relative path as it is, and only the last part of one that is absolute or leads outside."""
    found = PureWindowsPath(path)  # it understands the paths of every system
    if not found.anchor and ".." not in found.parts and not path.startswith("~"):
        return path
    return "" if found.name == ".." or found.name.startswith("~") else found.name


def _public_sources(sources: tuple[DataSource, ...]) -> tuple[DataSource, ...]:
    return tuple(replace(source, file=bare(source.file), splits=bare(source.splits)) for source in sources)


def _bare_encoder(network: NetworkSettings) -> str:
    return HF + (bare(network.transformer) or UNNAMED) if network.transformer else network.encoder
