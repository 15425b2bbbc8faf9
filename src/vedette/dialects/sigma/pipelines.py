"""Loads pipelines of pySigma, which adapt rules to a site's events: names of fields, values, meaning of log sources.

Categories are events that Sysmon and PowerShell write; services are channels.

"windows"           built in: log sources of Windows as conditions on `Channel` and `EventID`
    "fields.yml"        a file in pySigma's own format
    "sysmon"            a name in an installed package of pySigma pipelines
    a ProcessingPipeline

Several are applied in the order of their `priority`, and of the same priority in the order in which they are given.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import yaml
from sigma.exceptions import SigmaError
from sigma.processing.conditions import LogsourceCondition
from sigma.processing.pipeline import ProcessingItem, ProcessingPipeline
from sigma.processing.transformations import AddConditionTransformation, NestedProcessingTransformation
from sigma.rule import SigmaRule

from vedette.dialects.sigma.refusals import UnsupportedSigmaFeature, message_of
from vedette.errors import InputError
from vedette.language.hints import similar

PRODUCT: Final = "windows"
_SYSMON: Final = "Microsoft-Windows-Sysmon/Operational"
_POWERSHELL: Final = ("Microsoft-Windows-PowerShell/Operational", "PowerShellCore/Operational")
_CLASSIC: Final = "Windows PowerShell"


def _sysmon(*numbers: int) -> tuple[Sequence[str], Sequence[int]]:
    return (_SYSMON,), numbers


# Category -> channels, numbers of events.
CATEGORIES: Final[Mapping[str, tuple[Sequence[str], Sequence[int]]]] = {
    "process_creation": _sysmon(1),
    "file_change": _sysmon(2),
    "network_connection": _sysmon(3),
    "sysmon_status": _sysmon(4, 16),
    "process_termination": _sysmon(5),
    "driver_load": _sysmon(6),
    "image_load": _sysmon(7),
    "create_remote_thread": _sysmon(8),
    "raw_access_thread": _sysmon(9),
    "process_access": _sysmon(10),
    "file_event": _sysmon(11),
    "registry_add": _sysmon(12),
    "registry_delete": _sysmon(12),
    "registry_set": _sysmon(13),
    "registry_rename": _sysmon(14),
    "registry_event": _sysmon(12, 13, 14),
    "create_stream_hash": _sysmon(15),
    "pipe_created": _sysmon(17, 18),
    "wmi_event": _sysmon(19, 20, 21),
    "dns_query": _sysmon(22),
    "file_delete": _sysmon(23, 26),
    "clipboard_capture": _sysmon(24),
    "process_tampering": _sysmon(25),
    "file_block_executable": _sysmon(27),
    "file_block_shredding": _sysmon(28),
    "file_executable_detected": _sysmon(29),
    "sysmon_error": _sysmon(255),
    "ps_module": (_POWERSHELL, (4103,)),
    "ps_script": (_POWERSHELL, (4104,)),
    "ps_classic_start": ((_CLASSIC,), (400,)),
    "ps_classic_provider_start": ((_CLASSIC,), (600,)),
    "ps_classic_script": ((_CLASSIC,), (800,)),
}

# Service -> channels.
SERVICES: Final[Mapping[str, Sequence[str]]] = {
    "application": ("Application",),
    "application-experience": (
        "Microsoft-Windows-Application-Experience/Program-Telemetry",
        "Microsoft-Windows-Application-Experience/Program-Compatibility-Assistant",
    ),
    "applocker": (
        "Microsoft-Windows-AppLocker/MSI and Script",
        "Microsoft-Windows-AppLocker/EXE and DLL",
        "Microsoft-Windows-AppLocker/Packaged app-Deployment",
        "Microsoft-Windows-AppLocker/Packaged app-Execution",
    ),
    "appmodel-runtime": ("Microsoft-Windows-AppModel-Runtime/Admin",),
    "appxdeployment-server": ("Microsoft-Windows-AppXDeploymentServer/Operational",),
    "appxpackaging-om": ("Microsoft-Windows-AppxPackaging/Operational",),
    "bitlocker": ("Microsoft-Windows-BitLocker/BitLocker Management",),
    "bits-client": ("Microsoft-Windows-Bits-Client/Operational",),
    "capi2": ("Microsoft-Windows-CAPI2/Operational",),
    "certificateservicesclient-lifecycle-system": (
        "Microsoft-Windows-CertificateServicesClient-Lifecycle-System/Operational",
    ),
    "codeintegrity-operational": ("Microsoft-Windows-CodeIntegrity/Operational",),
    "dhcp": ("Microsoft-Windows-DHCP-Server/Operational",),
    "diagnosis-scripted": ("Microsoft-Windows-Diagnosis-Scripted/Operational",),
    "dns-client": ("Microsoft-Windows-DNS Client Events/Operational",),
    "dns-server": ("DNS Server",),
    "dns-server-analytic": ("Microsoft-Windows-DNS-Server/Analytical",),
    "dns-server-audit": ("Microsoft-Windows-DNS-Server/Audit",),
    "driver-framework": ("Microsoft-Windows-DriverFrameworks-UserMode/Operational",),
    "firewall-as": ("Microsoft-Windows-Windows Firewall With Advanced Security/Firewall",),
    "hyper-v-worker": ("Microsoft-Windows-Hyper-V-Worker",),
    "iis-configuration": ("Microsoft-IIS-Configuration/Operational",),
    "kernel-event-tracing": ("Microsoft-Windows-Kernel-EventTracing",),
    "kernel-shimengine": (
        "Microsoft-Windows-Kernel-ShimEngine/Operational",
        "Microsoft-Windows-Kernel-ShimEngine/Diagnostic",
    ),
    "ldap": ("Microsoft-Windows-LDAP-Client/Debug",),
    "lsa-server": ("Microsoft-Windows-LSA/Operational",),
    "microsoft-servicebus-client": ("Microsoft-ServiceBus-Client/Admin", "Microsoft-ServiceBus-Client/Operational"),
    "msexchange-management": ("MSExchange Management",),
    "ntfs": ("Microsoft-Windows-Ntfs/Operational",),
    "ntlm": ("Microsoft-Windows-NTLM/Operational",),
    "openssh": ("OpenSSH/Operational",),
    "powershell": _POWERSHELL,
    "powershell-classic": (_CLASSIC,),
    "printservice-admin": ("Microsoft-Windows-PrintService/Admin",),
    "printservice-operational": ("Microsoft-Windows-PrintService/Operational",),
    "security": ("Security",),
    "security-mitigations": (
        "Microsoft-Windows-Security-Mitigations/KernelMode",
        "Microsoft-Windows-Security-Mitigations/UserMode",
    ),
    "sense": ("Microsoft-Windows-SENSE/Operational",),
    "servicebus-client": ("Microsoft-ServiceBus-Client/Admin", "Microsoft-ServiceBus-Client/Operational"),
    "shell-core": ("Microsoft-Windows-Shell-Core/Operational",),
    "smbclient-connectivity": ("Microsoft-Windows-SmbClient/Connectivity",),
    "smbclient-security": ("Microsoft-Windows-SmbClient/Security",),
    "sysmon": (_SYSMON,),
    "system": ("System",),
    "taskscheduler": ("Microsoft-Windows-TaskScheduler/Operational",),
    "terminalservices-localsessionmanager": ("Microsoft-Windows-TerminalServices-LocalSessionManager/Operational",),
    "vhdmp": ("Microsoft-Windows-VHDMP/Operational",),
    "windefend": ("Microsoft-Windows-Windows Defender/Operational",),
    "wmi": ("Microsoft-Windows-WMI-Activity/Operational",),
}


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
        _scoped(f"windows_{category}", LogsourceCondition(category, PRODUCT), channels, numbers)
        for category, (channels, numbers) in CATEGORIES.items()
    ]
    items += [
        _scoped(f"windows_service_{service}", _ServiceAlone(None, PRODUCT, service), channels)
        for service, channels in SERVICES.items()
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
