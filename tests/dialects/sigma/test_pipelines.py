"""Pipelines: names of fields, what log sources mean, which rules no pipeline knows of, and what is no pipeline."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.contract.sigma import shared
from tests.dialects.sigma.asking import answers, said, selection
from vedette.dialects.sigma import pipelines
from vedette.errors import InputError, NotSupported

PROCESS = {"product": "windows", "category": "process_creation"}
_NEWER = "PowerShellCore/Operational"  # PowerShell 7, which writes the same events to a channel of its own


def written(folder: Path, name: str, text: str) -> str:
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_log_sources_of_windows_are_those_of_other_evaluators() -> None:
    known = json.loads(shared("sigma_rules/logsource_scope.json").read_text(encoding="utf-8"))
    for category, pairs in known["categories"].items():
        channels, numbers = pipelines.CATEGORIES[category]
        assert {(channel, number) for channel in channels if channel != _NEWER for number in numbers} == {
            tuple(pair) for pair in pairs
        }
    for service, channels in known["services"].items():
        expected = [channels] if isinstance(channels, str) else channels
        assert set(pipelines.SERVICES[service]) - {_NEWER} == set(expected)


def test_a_log_source_is_a_condition() -> None:
    rule = selection({"Image": "x"}, logsource=PROCESS)
    assert said(rule, ["windows"]) == (
        "any(items(Channel)) ilike 'Microsoft-Windows-Sysmon/Operational' and any(items(EventID)) = '1' and "
        "any(items(Image)) ilike 'x'"
    )
    service = selection({"Image": "x"}, logsource={"product": "windows", "service": "security"})
    assert said(service, ["windows"]) == "any(items(Channel)) ilike 'Security' and any(items(Image)) ilike 'x'"
    both = selection({"Image": "x"}, logsource={**PROCESS, "service": "security"})
    assert said(both, ["windows"]) == said(rule, ["windows"])


def test_without_a_pipeline_a_rule_is_asked_of_every_event() -> None:
    assert said(selection({"Image": "x"}, logsource=PROCESS)) == "any(items(Image)) ilike 'x'"


def test_a_log_source_that_no_pipeline_knows_is_refused() -> None:
    for source in ({"product": "linux"}, {"product": "windows", "category": "juggling"}, {"category": "proxy"}):
        with pytest.raises(NotSupported, match=r"no pipeline says which events the log source is .*\nHint: "):
            said(selection({"Image": "x"}, logsource=source), ["windows"])


def test_pipelines_that_say_nothing_of_log_sources_refuse_none(tmp_path: Path) -> None:
    fields = written(tmp_path, "fields.yml", "transformations: [{type: field_name_prefix, prefix: log.}]")
    assert (
        said(selection({"Image": "x"}, logsource={"product": "linux"}), [fields]) == "any(items(log.Image)) ilike 'x'"
    )


def test_a_pipeline_may_say_what_another_log_source_is(tmp_path: Path) -> None:
    text = """
    transformations:
    - type: nest
      items:
      - type: add_condition
        conditions: {source: syslog}
      rule_conditions: [{type: logsource, product: linux}]
    """
    linux = written(tmp_path, "linux.yml", text)
    rule = selection({"Image": "x"}, logsource={"product": "linux"})
    assert said(rule, ["windows", linux]) == "any(items(source)) ilike 'syslog' and any(items(Image)) ilike 'x'"
    with pytest.raises(NotSupported, match="no pipeline says"):
        said(selection({"Image": "x"}, logsource={"product": "macos"}), ["windows", linux])


FIELDS = """
name: fields
priority: {priority}
transformations:
- type: field_name_mapping
  mapping: {{Channel: channel, EventID: code, User: [who, whom]}}
- type: field_name_prefix
  prefix: attrs.
  field_name_conditions: [{{type: exclude_fields, fields: [channel, code, who, whom]}}]
"""


def test_pipelines_are_applied_in_their_order(tmp_path: Path) -> None:
    fields = written(tmp_path, "fields.yml", FIELDS.format(priority=0))
    rule = selection({"Image|endswith": "x", "User": "y", "Other|fieldref": "Image"}, logsource=PROCESS)
    text = said(rule, ["windows", fields])
    assert text == (
        "any(items(channel)) ilike 'Microsoft-Windows-Sysmon/Operational' and any(items(code)) = '1'"
        " and any(items(attrs.Image)) iendswith 'x' and (any(items(who)) ilike 'y' or any(items(whom)) ilike 'y')"
        " and text(attrs.Other) istartswith text(attrs.Image)"
        " and text(attrs.Image) istartswith text(attrs.Other)"
    )
    event = {"channel": "Microsoft-Windows-Sysmon/Operational", "code": 1, "whom": "Y", "attrs": {"Image": "X"}}
    assert answers(selection({"Image": "x", "User": "y"}, logsource=PROCESS), [event], ["windows", fields]) == [True]
    first = written(tmp_path, "first.yml", FIELDS.format(priority=-1))
    assert said(rule, ["windows", first]).startswith("any(items(Channel)) ilike")
    assert said(rule, [fields, "windows"]).startswith("any(items(Channel)) ilike")


def test_keywords_may_be_looked_for_in_one_field(tmp_path: Path) -> None:
    text = "transformations: [{type: field_name_mapping, mapping: {null: message}}]"
    assert said(selection(["x", "y"]), [written(tmp_path, "raw.yml", text)]) == (
        "any(items(message)) icontains 'x' or any(items(message)) icontains 'y'"
    )


def test_what_pipelines_drop_says_nothing(tmp_path: Path) -> None:
    text = """
    transformations:
    - type: drop_detection_item
      field_name_conditions: [{type: include_fields, fields: [noise]}]
    """
    drop = written(tmp_path, "drop.yml", text)
    assert said(selection({"noise": 1, "a": "x"}), [drop]) == "any(items(a)) ilike 'x'"
    with pytest.raises(InputError, match="nothing is left of the rule"):
        said(selection({"noise": 1}), [drop])


def test_a_pipeline_may_refuse_a_rule(tmp_path: Path) -> None:
    text = "transformations: [{type: rule_failure, message: not here}]"
    with pytest.raises(NotSupported, match="a pipeline refuses it: not here"):
        said(selection({"a": "x"}), [written(tmp_path, "no.yml", text)])


def test_a_pipeline_of_pysigma_may_be_handed_in() -> None:
    from sigma.processing.pipeline import ProcessingItem, ProcessingPipeline
    from sigma.processing.transformations import FieldMappingTransformation

    mapping = ProcessingPipeline([ProcessingItem(FieldMappingTransformation({"a": "b"}))])
    for _ in range(2):  # which is not used up
        assert said(selection({"a": "x"}), [mapping]) == "any(items(b)) ilike 'x'"


def test_pipelines_of_installed_packages_are_known_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    from sigma import plugins
    from sigma.processing.pipeline import ProcessingItem, ProcessingPipeline
    from sigma.processing.transformations import FieldMappingTransformation

    def site() -> ProcessingPipeline:
        return ProcessingPipeline([ProcessingItem(FieldMappingTransformation({"a": "c"}))], name="site")

    found = plugins.InstalledSigmaPlugins(pipelines={"site": site})
    monkeypatch.setattr(plugins.InstalledSigmaPlugins, "autodiscover", classmethod(lambda *_, **__: found))
    assert said(selection({"a": "x"}), ["site"]) == "any(items(c)) ilike 'x'"
    with pytest.raises(InputError, match=r"there is no pipeline 'sites'.*\nHint: did you mean 'site'\?"):
        said(selection({"a": "x"}), ["sites"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("transformations: [{type: juggle}]", "Unknown transformation type 'juggle'"),
        ("transformation: []", "Unkown keys"),
        ("a: [", "is no pipeline of pySigma|Error in parsing"),
        ("just a text", "is no pipeline of pySigma"),
        ("postprocessing: [{type: embed, prefix: a, suffix: b}]", "works on the text of queries"),
        ("finalizers: [{type: concat}]", "works on the text of queries"),
        ("allowed_backends: [splunk]", "is for splunk"),
    ],
)
def test_what_is_no_pipeline(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        said(selection({"a": "x"}), [written(tmp_path, "wrong.yml", text)])


def test_a_pipeline_reads_no_files_and_runs_no_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("PYSIGMA_ALLOW_EXTERNAL_SOURCES", raising=False)
    (tmp_path / "users.txt").write_text("root\n")
    rule = selection({"user|expand": "%users%"})
    for source in (f"type: file_placeholders, path: {tmp_path / 'users.txt'}", "type: command_placeholders, cmd: id"):
        pipeline = written(tmp_path, "outside.yml", f"transformations: [{{{source}}}]")
        with pytest.raises(InputError, match="disabled by default"):
            said(rule, [pipeline])


def test_what_no_pipeline_can_be() -> None:
    given: Any = 5
    with pytest.raises(InputError, match="a pipeline is a name, a file or a ProcessingPipeline, not a int"):
        said(selection({"a": "x"}), [given])
