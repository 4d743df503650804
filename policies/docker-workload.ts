import type { PolicyResource } from "./rule.ts";
import { fields, isOn, items, text, whole } from "./values.ts";
import type { Container, Mount, Variable, Workload } from "./workload.ts";

/** The label that says which service of Gatehouse a container is. */
const dockerServiceLabel = "io.gatehouse.service";

/** A Docker container as a workload. */
export function dockerWorkload({ type, name, props }: PolicyResource): Workload | undefined {
  if (type !== "docker:index/container:Container") return undefined;
  return {
    kind: "docker",
    service: () =>
      items(props["labels"])
        .map(fields)
        // Another label's value may be unknown at preview, and is not read.
        .flatMap((entry) => (entry["label"] === dockerServiceLabel ? (text(entry["value"]) ?? []) : []))
        .at(0),
    hostNamespaces: () =>
      [
        ["network", props["networkMode"]],
        ["pid", props["pidMode"]],
        ["ipc", props["ipcMode"]],
      ].flatMap(([namespace, mode]) => (mode === "host" ? [String(namespace)] : [])),
    stopGraceSeconds: () => whole(props["stopTimeout"]),
    containers: () => [dockerContainer(name, props)],
  };
}

function dockerContainer(name: string, props: PolicyResource["props"]): Container {
  const capabilities = () => fields(props["capabilities"]);
  const options = () => items(props["securityOpts"]).flatMap((option) => text(option) ?? []);
  return {
    name,
    image: () => text(props["image"]),
    variables: () => items(props["envs"]).flatMap((line) => variable(line)),
    privileged: () => isOn(props["privileged"]),
    user: () => text(props["user"]),
    readOnlyRoot: () => props["readOnly"] === true,
    dropsAll: () => items(capabilities()["drops"]).includes("ALL"),
    addedCapabilities: () => items(capabilities()["adds"]).map(String),
    noNewPrivileges: () => options().some((option) => /^no-new-privileges(:true|=true)?$/.test(option)),
    seccompUnconfined: () => options().some((option) => /^seccomp[:=]unconfined$/.test(option)),
    limits: () => ({
      cpu: text(props["cpus"]) !== undefined || whole(props["cpuQuota"]) !== undefined,
      memory: (whole(props["memory"]) ?? 0) > 0,
    }),
    probes: () => {
      const present = items(fields(props["healthcheck"])["tests"]).length > 0;
      return { ready: present, live: present };
    },
    mounts: () => [
      ...items(props["volumes"]).flatMap((volume) => volumeMount(fields(volume))),
      ...items(props["mounts"]).flatMap((mount) => typedMount(fields(mount))),
    ],
    exposed: () => [
      ...(isOn(props["publishAllPorts"]) ? [{ number: 0, address: "0.0.0.0" }] : []),
      ...items(props["ports"]).map((port) => {
        const { internal, ip } = fields(port);
        return { number: whole(internal) ?? 0, address: text(ip) ?? "0.0.0.0" };
      }),
    ],
    oneShot: () =>
      props["start"] === false || (props["mustRun"] === false && props["attach"] === true && props["restart"] === "no"),
  };
}

function variable(line: unknown): readonly Variable[] {
  const entry = text(line);
  if (entry === undefined) return [];
  const at = entry.indexOf("=");
  return [at === -1 ? { name: entry, value: undefined } : { name: entry.slice(0, at), value: entry.slice(at + 1) }];
}

function volumeMount({ containerPath, hostPath, fromContainer }: Readonly<Record<string, unknown>>): readonly Mount[] {
  if (text(fromContainer) !== undefined) return [];
  return [{ path: text(containerPath) ?? "", hostPath: text(hostPath), temporary: false }];
}

function typedMount({ target, source, type }: Readonly<Record<string, unknown>>): readonly Mount[] {
  return [
    { path: text(target) ?? "", hostPath: type === "bind" ? text(source) : undefined, temporary: type === "tmpfs" },
  ];
}
