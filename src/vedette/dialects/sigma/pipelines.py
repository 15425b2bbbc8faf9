"""Loads pipelines of pySigma, which adapt rules to a site's events: names of fields, values, meaning of log sources.

    "windows"           built in: log sources of Windows as conditions on `Channel` and `EventID`
    "fields.yml"        a file in pySigma's own format
    "sysmon"            a name in an installed package of pySigma pipelines
    a ProcessingPipeline

Several are applied in the order of their `priority`, and of the same priority in the order in which they are given.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import yaml
from sigma.exceptions import SigmaError
from sigma.processing.conditions import LogsourceCondition
from sigma.processing.pipeline import ProcessingItem, ProcessingPipeline
from sigma.processing.transformations import AddConditionTransformation, NestedProcessingTransformation
from sigma.rule import SigmaRule

from vedette.dialects.sigma import windows_log_sources
from vedette.dialects.sigma.refusals import UnsupportedSigmaFeature, message_of
from vedette.errors import InputError
from vedette.language.hints import similar

BACKEND: Final = "vedette"  # the name by which pipelines allow this backend


def pipeline_of(given: Sequence[Any]) -> ProcessingPipeline:
    """All pipelines as one; InputError says which cannot be read, and why."""
    found = [_resolved(one) for one in given]
    whole = ProcessingPipeline()
    for one in sorted(found, key=lambda pipeline: pipeline.priority):
        whole = whole + one
    return whole


def check_scope(pipeline: ProcessingPipeline, rule: SigmaRule) -> None:
    """Refuse a rule whose log source is not mapped, if pipelines map log sources.

    It would be tested on every event, also on those that its author did not mean.
    """
    scopes = {item.identifier for item in _conditions_added(pipeline)}
    if not scopes or scopes & pipeline.applied_ids:
        return
    source = ", ".join(
        f"{name} {value}"
        for name in ("product", "category", "service")
        if (value := getattr(rule.logsource, name)) is not None
    )
    raise UnsupportedSigmaFeature(
        f"no pipeline says which events the log source is ({source})",
        "add a pipeline that does, with `add_condition`, or use none that says it of others",
    )


def _conditions_added(pipeline: ProcessingPipeline) -> Iterator[ProcessingItem]:
    for item in pipeline.items:
        if isinstance(item.transformation, AddConditionTransformation):
            yield item
        elif isinstance(item.transformation, NestedProcessingTransformation):
            yield from _conditions_added(item.transformation._nested_pipeline)


# ---------------------------------------------------------------- names, files, packages


def _resolved(given: Any) -> ProcessingPipeline:
    if isinstance(given, ProcessingPipeline):
        found = given
    elif not isinstance(given, str | Path):
        raise InputError(f"a pipeline is a name, a file or a ProcessingPipeline, not a {type(given).__name__}")
    elif str(given) in _OWN:
        found = _OWN[str(given)]()
    elif Path(given).is_file():
        found = _from_file(Path(given))
    else:
        found = _installed(str(given))
    name = found.name or str(given)
    if found.postprocessing_items or found.finalizers:
        raise InputError(
            f"the pipeline {name!r} works on the text of queries (postprocessing, finalizers), of which there is none\n"
            "Hint: keep only its transformations"
        )
    if found.allowed_backends and BACKEND not in found.allowed_backends:
        raise InputError(
            f"the pipeline {name!r} is for {', '.join(sorted(found.allowed_backends))}\n"
            f"Hint: a pipeline for every backend has no `allowed_backends`, or {BACKEND} among them"
        )
    return found


def _from_file(path: Path) -> ProcessingPipeline:
    try:
        return ProcessingPipeline.from_yaml(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the pipeline {path} cannot be read: {error}") from None
    except SigmaError as error:
        raise InputError(f"the pipeline {path}: {message_of(error)}") from None
    except (yaml.YAMLError, TypeError, AttributeError, ValueError, KeyError) as error:
        what = str(error).partition("\n")[0]
        raise InputError(f"{path} is no pipeline of pySigma: {what}\nHint: it has `transformations:`, a list") from None


def _installed(name: str) -> ProcessingPipeline:
    from sigma.plugins import InstalledSigmaPlugins

    known = InstalledSigmaPlugins.autodiscover(include_backends=False, include_validators=False).pipelines
    if name in known:
        return known[name]()
    names = [*_OWN, *sorted(known)]
    near = similar(name, names)
    hint = f"did you mean {near!r}?" if near else f"there are {', '.join(names)}, and files in pySigma's format"
    raise InputError(f"there is no pipeline {name!r}: neither a name nor a file\nHint: {hint}")


# ---------------------------------------------------------------- what comes with Vedette


def _windows() -> ProcessingPipeline:
    items = [
        _scoped(f"windows_{category}", LogsourceCondition(category, windows_log_sources.PRODUCT), channels, numbers)
        for category, (channels, numbers) in windows_log_sources.CATEGORIES.items()
    ]
    items += [
        _scoped(f"windows_service_{service}", _ServiceAlone(None, windows_log_sources.PRODUCT, service), channels)
        for service, channels in windows_log_sources.SERVICES.items()
    ]
    return ProcessingPipeline(items, name="windows")


class _ServiceAlone(LogsourceCondition):
    """Matches log sources with a service but no category, which would be more specific."""

    def match(self, rule: Any) -> bool:
        return super().match(rule) and not (isinstance(rule, SigmaRule) and rule.logsource.category is not None)


def _scoped(
    identifier: str, condition: LogsourceCondition, channels: Sequence[str], numbers: Sequence[int] = ()
) -> ProcessingItem:
    conditions: dict[str, Any] = {"Channel": list(channels)}
    if numbers:
        conditions["EventID"] = list(numbers)
    return ProcessingItem(AddConditionTransformation(conditions), rule_conditions=[condition], identifier=identifier)


_OWN: Final = {"windows": _windows}
