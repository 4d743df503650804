import type { PolicyResource } from "./rule.ts";
import { readFields, isOn, readItems, readText, readInteger } from "./values.ts";
import type { Container, Mount, Variable, Workload } from "./workload.ts";

const dockerServiceLabel = "io.gatehouse.service";

/** Reads a Docker container as a workload; returns undefined for any other resource. */
export function readDockerWorkload({ type, name, props }: PolicyResource): Workload | undefined {
  if (type !== "docker:index/container:Container") return undefined;
  return {
    kind: "docker",
    service: () =>
      readItems(props["labels"])
        .map(readFields)
        // Don't read the values of other labels, because they may be unknown at preview.
        .flatMap((entry) => (entry["label"] === dockerServiceLabel ? (readText(entry["value"]) ?? []) : []))
        .at(0),
    podLabels: () => ({}),
    hostNamespaces: () =>
      [
        ["network", props["networkMode"]],
        ["pid", props["pidMode"]],
        ["ipc", props["ipcMode"]],
      ].flatMap(([namespace, mode]) => (mode === "host" ? [String(namespace)] : [])),
    stopGraceSeconds: () => readInteger(props["stopTimeout"]),
    containers: () => [readContainer(name, props)],
  };
}

function readContainer(name: string, props: PolicyResource["props"]): Container {
  const capabilities = () => readFields(props["capabilities"]);
  const options = () => readItems(props["securityOpts"]).flatMap((option) => readText(option) ?? []);
  return {
    name,
    image: () => readText(props["image"]),
    variables: () => readItems(props["envs"]).flatMap((line) => readVariable(line)),
    privileged: () => isOn(props["privileged"]),
    user: () => readText(props["user"]),
    readOnlyRoot: () => props["readOnly"] === true,
    dropsAll: () => readItems(capabilities()["drops"]).includes("ALL"),
    addedCapabilities: () => readItems(capabilities()["adds"]).map(String),
    noNewPrivileges: () => options().some((option) => /^no-new-privileges(:true|=true)?$/.test(option)),
    seccompUnconfined: () => options().some((option) => /^seccomp[:=]unconfined$/.test(option)),
    limits: () => ({
      cpu: readText(props["cpus"]) !== undefined || readInteger(props["cpuQuota"]) !== undefined,
      memory: (readInteger(props["memory"]) ?? 0) > 0,
    }),
    probes: () => {
      const present = readItems(readFields(props["healthcheck"])["tests"]).length > 0;
      return { ready: present, live: present };
    },
    mounts: () => [
      ...readItems(props["volumes"]).flatMap((volume) => readVolumeMount(readFields(volume))),
      ...readItems(props["mounts"]).flatMap((mount) => readTypedMount(readFields(mount))),
    ],
    exposed: () => [
      ...(isOn(props["publishAllPorts"]) ? [{ number: 0, address: "0.0.0.0" }] : []),
      ...readItems(props["ports"]).map((port) => {
        const { internal, ip } = readFields(port);
        return { number: readInteger(internal) ?? 0, address: readText(ip) ?? "0.0.0.0" };
      }),
    ],
    oneShot: () =>
      props["start"] === false || (props["mustRun"] === false && props["attach"] === true && props["restart"] === "no"),
  };
}

function readVariable(line: unknown): readonly Variable[] {
  const entry = readText(line);
  if (entry === undefined) return [];
  const at = entry.indexOf("=");
  return [at === -1 ? { name: entry, value: undefined } : { name: entry.slice(0, at), value: entry.slice(at + 1) }];
}

function readVolumeMount({
  containerPath,
  hostPath,
  fromContainer,
}: Readonly<Record<string, unknown>>): readonly Mount[] {
  if (readText(fromContainer) !== undefined) return [];
  return [{ path: readText(containerPath) ?? "", hostPath: readText(hostPath), temporary: false }];
}

function readTypedMount({ target, source, type }: Readonly<Record<string, unknown>>): readonly Mount[] {
  return [
    {
      path: readText(target) ?? "",
      hostPath: type === "bind" ? readText(source) : undefined,
      temporary: type === "tmpfs",
    },
  ];
}
