"""Settings, from a TOML file and from environment variables, which take precedence (`VEDETTE_STORE__URL`)."""

from __future__ import annotations

import ipaddress
import os
import tomllib
from pathlib import Path
from typing import Annotated, Any, Final, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from vedette.errors import FileError, InputError

DEFAULT_FILE: Final = "vedette.toml"
PREFIX: Final = "VEDETTE_"

Seconds = Annotated[float, Field(gt=0)]
Lateness = Annotated[float, Field(ge=0, le=366 * 24 * 3600.0)]  # seconds
Count = Annotated[int, Field(ge=1)]
Port = Annotated[int, Field(ge=1, le=65535)]
KB: Final = 1024


def _network(text: str) -> str:
    ipaddress.ip_network(text)
    return text


NetworkText = Annotated[str, AfterValidator(_network)]


class SettingsTable(BaseModel):
    """A table of the settings; an unknown key is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class ServerSettings(SettingsTable):
    """Address, keys and connections of the HTTP server."""

    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8080
    console: bool = True  # the pages for people, under /
    admin_key: SecretStr | None = None  # may make tenants, keys and streams; none: `vedette serve` makes a new one
    metrics_key: SecretStr | None = None  # that /metrics asks for; none: anybody may read them
    drain: Seconds = 10.0  # how long requests may go on when the service ends
    keep_alive: Count = 5  # seconds that a connection may be idle between two requests
    proxies: tuple[NetworkText, ...] = ()  # addresses or networks whose X-Forwarded-For and -Proto are believed


class StoreSettings(SettingsTable):
    """The database, and how long events and notifications are kept."""

    url: str = "sqlite:///vedette.db"
    synchronous: Literal["FULL", "EXTRA", "NORMAL"] = "FULL"  # SQLite's; NORMAL may lose what was acknowledged
    keep_events: Seconds = 24 * 3600.0  # for dry runs, and for readers that come back
    keep_notifications: Seconds = 7 * 24 * 3600.0  # after they were settled


class StreamSettings(SettingsTable):
    """A stream of events that is there from the start."""

    anonymous: bool = False  # may anybody publish, without a key?
    lateness: Lateness = 0.0  # that patterns wait for events that come out of order
    attributes: dict[str, Any] | None = Field(default=None, alias="schema")  # attribute -> type; none: any
    owner: str | None = None  # a tenant, which has every right on it; none: stays as it is
    # Who has a right, by name or "*"; none: stays as it is, and on a new stream without an owner every tenant
    # publishes and subscribes.
    publish: tuple[str, ...] | None = None
    subscribe: tuple[str, ...] | None = None
    read: tuple[str, ...] | None = None  # what others published


class LimitSettings(SettingsTable):
    """Limits on what tenants and clients may use."""

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
    connections: Count = 10_000  # that read notifications at the same time
    address_connections: Count = 1_000  # of one address, that have not shown a key yet; proxies have no such limit
    header_bytes: Annotated[int, Field(ge=1024)] = 32 * KB  # of a request, with its path
    header_seconds: Seconds = 10.0  # that the headers of a request may take
    body_seconds: Seconds = 60.0  # ... and its body, behind them
    stalled_seconds: Seconds = 60.0  # that somebody who is written to may read nothing
    test_events: Count = 100  # of a dry run
    matching_seconds: Seconds = 60.0  # that one event may take to be matched with one subscription
    operator_seconds: Seconds = 8.0  # the same, where the subscription calls operators


class ComputingSettings(SettingsTable):
    """Limits on computations for requests: dry runs, parsed texts, compared subscriptions."""

    seconds: Seconds = 5.0  # then it is stopped
    processes: Annotated[int, Field(ge=1, le=64)] = 2  # of which a tenant has all but one, if there are several
    waiting: Count = 64  # requests of a tenant
    memory_bytes: Count = 2 * 1024 * 1024 * KB  # beyond what a process has when it begins


class WebhookSettings(SettingsTable):
    """Requests to webhooks: time-outs, retries, allowed targets."""

    timeout: Seconds = 10.0
    schedule: tuple[Seconds, ...] = (5.0, 30.0, 120.0, 600.0, 3600.0, 6 * 3600.0)  # waits after failures
    jitter: Annotated[float, Field(ge=0, le=1)] = 0.2
    concurrency: Count = 64  # requests at a time, shared fairly among tenants
    ports: tuple[Port, ...] | Literal["any"] = (80, 443)  # that webhooks may go to
    response_bytes: Count = 64 * KB
    allow_private: bool = False  # for tests and closed networks: may targets be addresses of this network?


class TelemetrySettings(SettingsTable):
    """Logs and traces of the service itself."""

    logs: Literal["json", "text"] = "json"
    level: Literal["debug", "info", "warning", "error"] = "info"
    otlp_endpoint: str | None = None  # traces go there; none: nowhere


class ServiceSettings(BaseSettings):
    """All settings of the service."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
        nested_model_default_partial_update=True,
    )

    server: ServerSettings = ServerSettings()
    store: StoreSettings = StoreSettings()
    streams: dict[str, StreamSettings] = {"default": StreamSettings()}
    limits: LimitSettings = LimitSettings()
    computing: ComputingSettings = ComputingSettings()
    webhooks: WebhookSettings = WebhookSettings()
    telemetry: TelemetrySettings = TelemetrySettings()
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
        """The environment takes precedence over the file, which is handed in as arguments."""
        return env_settings, init_settings


def load(path: str | Path | None = None) -> ServiceSettings:
    """Read the settings from a file (by default `vedette.toml`, if it is there) and from the environment."""
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
        tables = ", ".join(name.upper() for name in ServiceSettings.model_fields)
        raise InputError(f"there is no such setting: {', '.join(unknown)}\nHint: after {PREFIX} comes one of {tables}")
    try:
        return ServiceSettings(**given)
    except ValidationError as error:
        raise InputError(_explained(error, str(place))) from None


def _is_unknown(name: str) -> bool:
    """Whether an environment variable names no table of the settings; pydantic ignores these."""
    table, nested, _ = name.upper().removeprefix(PREFIX).partition("__")
    return name.upper().startswith(PREFIX) and bool(nested) and table.lower() not in ServiceSettings.model_fields


def _explained(error: ValidationError, place: str) -> str:
    """All errors: where and what, without the value, which may be a secret."""
    lines = [f"the settings ({place}, and {PREFIX}… in the environment) make no sense:"]
    for mistake in error.errors(include_input=False, include_url=False):
        where = ".".join(map(str, mistake["loc"])) or "the whole"
        known = mistake["type"] == "extra_forbidden"
        lines.append(f"  {where}: {'there is no such setting' if known else mistake['msg']}")
    return "\n".join(lines)
