/** Options of a service's unit. */
export type UnitOptions = Readonly<{
  service: string;
  /** Node and the program with its arguments, as absolute paths. */
  command: readonly string[];
  environmentFile: string;
  /** User that the service runs as; undefined: a dynamic user of systemd, which owns only the service's directories. */
  user: string | undefined;
  /** Directories besides its own that the service writes to. */
  writablePaths: readonly string[];
  /** Files with secrets, which systemd reads as root and shows to this service alone, by name. */
  credentials: Readonly<Record<string, string>>;
  /** Time in seconds that a stop may take before the process is killed. */
  stopSeconds: number;
  /** Whether it listens on a port below 1024. */
  hasLowPort: boolean;
  /** Whether the service, or a file that it reads, is in a home directory. */
  readsHome: boolean;
  /** Whether a node is started from this service: it then runs under the unit's rules, and must outlive the service. */
  startsNode: boolean;
}>;

export function formatUnitName(service: string): string {
  return `gatehouse-${service}.service`;
}

/** Locates a credential that systemd passes to a service. */
export function locateCredential(service: string, name: string): string {
  return `/run/credentials/${formatUnitName(service)}/${name}`;
}

/** Formats a unit of systemd, 247 or later (systemd.service(5), systemd.exec(5)). */
export function formatUnit(options: UnitOptions): string {
  const { service, user } = options;
  const own = `gatehouse-${service}`;
  const credentials = Object.entries(options.credentials).map(
    ([name, path]) => `LoadCredential=${name}:${escapePath(path)}`,
  );
  return `# Written by gatehouse install-service. Your own changes belong in a drop-in: systemctl edit ${formatUnitName(service)}
[Unit]
Description=Gatehouse ${service}
Wants=network-online.target
After=network-online.target
# Tries again for as long as it takes; its log says why it ends.
StartLimitIntervalSec=0

[Service]
Type=exec
ExecStart=${options.command.map(quoteArgument).join(" ")}
EnvironmentFile=${escapePath(options.environmentFile)}
Environment=NODE_ENV=production MALLOC_ARENA_MAX=1 MALLOC_TRIM_THRESHOLD_=131072
Environment=NODE_COMPILE_CACHE=/var/cache/${own}
${user === undefined ? "DynamicUser=yes" : `User=${user}`}
StateDirectory=${own}
StateDirectoryMode=0700
CacheDirectory=${own}
WorkingDirectory=/var/lib/${own}
${credentials.map((line) => `${line}\n`).join("")}Restart=always
RestartSec=5
TimeoutStopSec=${options.stopSeconds}
${(options.startsNode ? listNodeRules(options) : listOwnRules(options)).join("\n")}

[Install]
WantedBy=multi-user.target
`;
}

/** Privileges that neither a service of Gatehouse nor a node needs. */
const never = [
  "NoNewPrivileges=yes",
  "ProtectKernelTunables=yes",
  "ProtectKernelModules=yes",
  "ProtectKernelLogs=yes",
  "ProtectControlGroups=yes",
  "ProtectClock=yes",
  "ProtectHostname=yes",
  "RestrictSUIDSGID=yes",
  "RestrictRealtime=yes",
  "LockPersonality=yes",
];

/** Lists rules for a service that starts no other program. V8 compiles code at run time, so memory may be written and executed. */
function listOwnRules({ user, writablePaths, hasLowPort, readsHome, stopSeconds }: UnitOptions): readonly string[] {
  const writable = writablePaths.map((path) => `ReadWritePaths=${quotePath(path)}`);
  return [
    `# ${stopSeconds} s are what the service takes at most to end what it is doing.`,
    "KillMode=mixed",
    ...never,
    ...listCapabilities(hasLowPort),
    "ProtectSystem=strict",
    ...writable,
    `ProtectHome=${readsHome ? "read-only" : "yes"}`,
    "PrivateTmp=yes",
    "PrivateDevices=yes",
    "RemoveIPC=yes",
    "RestrictNamespaces=yes",
    "RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK",
    "SystemCallArchitectures=native",
    "SystemCallFilter=@system-service",
    "SystemCallFilter=~@privileged",
    "SystemCallErrorNumber=EPERM",
    `UMask=${user === undefined ? "0077" : "0027"}`,
    "LimitNOFILE=65536",
    "MemoryMax=512M",
  ];
}

/** Lists rules for a sidecar that starts the node, whose needs Gatehouse can't know. */
function listNodeRules({ hasLowPort }: UnitOptions): readonly string[] {
  return [
    "# The node that the sidecar starts runs under these rules too, and outlives the sidecar. So nothing here bounds its memory, its files or its",
    "# system calls. With the driver compose or docker the node is not a child of this service, and install-service writes strict rules.",
    "KillMode=process",
    "OOMPolicy=continue",
    ...never,
    ...listCapabilities(hasLowPort),
    "ProtectSystem=full",
    "UMask=0027",
    "LimitNOFILE=1048576",
    "TasksMax=infinity",
  ];
}

function listCapabilities(hasLowPort: boolean): readonly string[] {
  const granted = hasLowPort ? "CAP_NET_BIND_SERVICE" : "";
  return [`CapabilityBoundingSet=${granted}`, `AmbientCapabilities=${granted}`];
}

/** Quotes an argument of a command line (systemd.service(5), "Command lines"). */
function quoteArgument(argument: string): string {
  return quotePath(argument).replaceAll("$", "$$$$");
}

/** Quotes a path of a list (systemd.syntax(7), "Quoting"). */
function quotePath(path: string): string {
  return `"${escapePath(path).replaceAll(/["\\]/g, (found) => `\\${found}`)}"`;
}

/** Escapes `%` in a path, where systemd would replace a specifier. */
function escapePath(path: string): string {
  return path.replaceAll("%", "%%");
}

/**
 * Formats variables as systemd reads them (systemd.exec(5), EnvironmentFile): in double quotes, with a backslash before special characters.
 */
export function formatEnvironmentFile(service: string, variables: Readonly<Record<string, string>>): string {
  const lines = Object.entries(variables).map(
    ([name, value]) => `${name}="${value.replaceAll(/["\\$`]/g, (found) => `\\${found}`)}"\n`,
  );
  return `# Settings of the service; "gatehouse ${service} --help --all" lists all. Restart it after a change: systemctl restart gatehouse-${service}\n${lines.join("")}`;
}
