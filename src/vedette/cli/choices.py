"""The names that options take, for checking and completing them."""

from __future__ import annotations

from enum import StrEnum


class Engine(StrEnum):
    """Where matching runs."""

    LOCAL = "local"
    SPARK = "spark"


class Index(StrEnum):
    """How subscriptions are indexed (`vedette.matching.indexes`)."""

    CLUSTERS = "clusters"
    TREE = "tree"
    SCAN = "scan"


class Planner(StrEnum):
    """In which order operators are evaluated."""

    NAIVE = "naive"
    SEQUENTIAL = "sequential"
    SUBORDER = "suborder"
    ADAPTIVE = "adaptive"


class CoverMethod(StrEnum):
    """How it is decided whether others cover a subscription."""

    AUTO = "auto"
    PAIRWISE = "pairwise"
    SAMPLING = "sampling"
    EXACT = "exact"


class Covering(StrEnum):
    """How it is decided which subscriptions are asked about only where others matched that cover them."""

    AUTO = "auto"
    PAIRWISE = "pairwise"
    EXACT = "exact"


class MeetingDirection(StrEnum):
    """Whose attributes have to be there (`vedette.meeting.direction`)."""

    PUBLICATION = "publication"
    SUBSCRIPTION = "subscription"
    OPEN = "open"


class MeetingSide(StrEnum):
    """For whom the best are kept."""

    PUBLICATION = "publication"
    SUBSCRIPTION = "subscription"


class EventsFormat(StrEnum):
    """What events can be read from."""

    JSONL = "jsonl"
    CSV = "csv"
    PARQUET = "parquet"


class SubscriptionsFormat(StrEnum):
    """What subscriptions can be read from."""

    JSONL = "jsonl"
    YAML = "yaml"
    PARQUET = "parquet"


class OutputFormat(StrEnum):
    """What matches can be written to."""

    JSONL = "jsonl"
    PARQUET = "parquet"


class Dialect(StrEnum):
    """What rules can be written in, apart from Vedette's own language."""

    CESQL = "cesql"
    CLOUDEVENTS = "cloudevents"
    EVENTBRIDGE = "eventbridge"
    SIGMA = "sigma"
