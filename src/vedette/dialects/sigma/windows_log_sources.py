"""The events of Windows that belong to a log source of Sigma's: channels of the event log, and event numbers.

Categories are events that Sysmon and PowerShell write; services are channels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

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
