"""What can be set? From a TOML file, and by environment variables that come before it (`VEDETTE_STORE__URL`)."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import BaseModel, ConfigDict, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from vedette.errors import FileError, InputError

DEFAULT_FILE: Final = "vedette.toml"
PREFIX: Final = "VEDETTE_"

Seconds = Annotated[float, Field(gt=0)]
Lateness = Annotated[float, Field(ge=0, le=366 * 24 * 3600.0)]  # seconds
Count = Annotated[int, Field(ge=1)]
KB: Final = 1024


class Part(BaseModel):
    """A table of the settings; a key that is not known is a mistake."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Server(Part):
    """Where the service listens."""

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8080
    console: bool = True  # the pages for people, under /
    admin_key: SecretStr | None = None  # may make tenants, keys and streams; none: `vedette serve` prints a new one
    drain: Seconds = 10.0  # how long requests may go on when the service ends


class StoreSettings(Part):
    """Where the service remembers."""

    url: str = "sqlite:///vedette.db"
    synchronous: Literal["FULL", "EXTRA", "NORMAL"] = "FULL"  # SQLite's; NORMAL may lose what was acknowledged
    keep_events: Seconds = 24 * 3600.0  # for dry runs, and for readers that come back
    keep_notifications: Seconds = 7 * 24 * 3600.0  # after they were settled


class StreamSettings(Part):
    """A stream of events that is there from the start."""

    anonymous: bool = False  # may anybody publish, without a key?
    lateness: Lateness = 0.0  # that patterns wait for events that come out of order
    attributes: dict[str, Any] | None = Field(default=None, alias="schema")  # attribute -> type; none: any


class Limits(Part):
    """How much anybody may ask for, before it costs others."""

    event_bytes: Count = 256 * KB
    batch_events: Count = 1_000
    body_bytes: Count = 4 * 1024 * KB
    depth: Count = 32  # of JSON
    subscriptions: Count = 100_000  # of a tenant
    subscription_cost: Annotated[float, Field(gt=0)] = 1_000.0  # of one (see `vedette.service.costs`)
    tenant_cost: Annotated[float, Field(gt=0)] = 1_000_000.0  # of all of a tenant's
    requests: Annotated[float, Field(gt=0)] = 2_000.0  # a second and tenant, on average
    burst: Count = 4_000
    anonymous_requests: Annotated[float, Field(gt=0)] = 200.0  # a second and address
    validity: Seconds = 24 * 3600.0  # of a subscription that does not say (Liu 2007, §5.1: one day)
    longest_validity: Seconds = 366 * 24 * 3600.0
    queue: Count = 10_000  # notifications that wait for one subscription; then the oldest are dropped, and counted
    connections: Count = 10_000  # that hear of notifications at the same time
    test_events: Count = 100  # of a dry run


class Webhooks(Part):
    """How requests are made to subscribers."""

    timeout: Seconds = 10.0
    schedule: tuple[Seconds, ...] = (5.0, 30.0, 120.0, 600.0, 3600.0, 6 * 3600.0)  # waits after failures
    jitter: Annotated[float, Field(ge=0, le=1)] = 0.2
    concurrency: Count = 64
    response_bytes: Count = 64 * KB
    allow_private: bool = False  # for tests and closed networks: may targets be addresses of this network?


class Telemetry(Part):
    """What is told of the service itself."""

    logs: Literal["json", "text"] = "json"
    level: Literal["debug", "info", "warning", "error"] = "info"
    otlp_endpoint: str | None = None  # traces go there; none: nowhere


class Settings(BaseSettings):
    """All of it."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
        nested_model_default_partial_update=True,
    )

    server: Server = Server()
    store: StoreSettings = StoreSettings()
    streams: dict[str, StreamSettings] = {"default": StreamSettings()}
    limits: Limits = Limits()
    webhooks: Webhooks = Webhooks()
    telemetry: Telemetry = Telemetry()
    operators: str | None = None  # a Python file or module with operators, as --operators takes it

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The environment before the file, which is what is handed in."""
        return env_settings, init_settings


def load(path: str | Path | None = None) -> Settings:
    """The settings of a file (by default `vedette.toml`, if it is there) and of the environment."""
    place = Path(path) if path is not None else Path(DEFAULT_FILE)
    given: dict[str, Any] = {}
    if path is not None or place.exists():
        try:
            given = tomllib.loads(place.read_text(encoding="utf-8"))
        except OSError as error:
            raise FileError(f"{place}: {error.strerror or error}\nHint: name a settings file that is there") from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise FileError(f"{place}: not TOML: {error}") from None
    unknown = sorted(name for name in os.environ if _is_unknown(name))
    if unknown:
        tables = ", ".join(name.upper() for name in Settings.model_fields)
        raise InputError(f"there is no such setting: {', '.join(unknown)}\nHint: after {PREFIX} comes one of {tables}")
    try:
        return Settings(**given)
    except ValidationError as error:
        raise InputError(_explained(error, str(place))) from None


def _is_unknown(name: str) -> bool:
    """An environment variable of a table of the settings that is not there; pydantic looks only for its own."""
    table, nested, _ = name.upper().removeprefix(PREFIX).partition("__")
    return name.upper().startswith(PREFIX) and bool(nested) and table.lower() not in Settings.model_fields


def _explained(error: ValidationError, place: str) -> str:
    """Every mistake: where it is and what is wrong, without the value, which may be a secret."""
    lines = [f"the settings ({place}, and {PREFIX}… in the environment) make no sense:"]
    for mistake in error.errors(include_input=False, include_url=False):
        where = ".".join(map(str, mistake["loc"])) or "the whole"
        known = mistake["type"] == "extra_forbidden"
        lines.append(f"  {where}: {'there is no such setting' if known else mistake['msg']}")
    return "\n".join(lines)
