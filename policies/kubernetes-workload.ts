import type { PolicyResource } from "./rule.ts";
import { readFields, isOn, readItems, readText, readInteger } from "./values.ts";
import type { Container, Mount, Variable, Workload } from "./workload.ts";

const kubernetesServiceLabel = "app.kubernetes.io/component";

type Fields = Readonly<Record<string, unknown>>;

/** Kubernetes kinds that create pods, each with a function that reads its pod template. */
const templates: Readonly<Record<string, (spec: Fields) => Fields>> = {
  Deployment: (spec) => readFields(spec["template"]),
  StatefulSet: (spec) => readFields(spec["template"]),
  DaemonSet: (spec) => readFields(spec["template"]),
  ReplicaSet: (spec) => readFields(spec["template"]),
  Job: (spec) => readFields(spec["template"]),
  CronJob: (spec) => readFields(readFields(readFields(spec["jobTemplate"])["spec"])["template"]),
};

const kind = /^kubernetes:(?:core|apps|batch)\/v[0-9a-z]+:(\w+)$/;

/** Reads a Kubernetes object that creates pods as a workload; returns undefined for any other resource. */
export function readKubernetesWorkload({ type, props }: PolicyResource): Workload | undefined {
  const name = kind.exec(type)?.[1];
  if (name === undefined || (name !== "Pod" && templates[name] === undefined)) return undefined;
  const template = (): Fields => (name === "Pod" ? props : (templates[name]?.(readFields(props["spec"])) ?? {}));
  const pod = (): Fields => readFields(template()["spec"]);
  return {
    kind: "kubernetes",
    service: () => readText(readLabels(template())[kubernetesServiceLabel]),
    podLabels: () => readLabels(template()),
    hostNamespaces: () =>
      [
        ["network", "hostNetwork"],
        ["pid", "hostPID"],
        ["ipc", "hostIPC"],
      ].flatMap(([namespace = "", key = ""]) => (isOn(pod()[key]) ? [namespace] : [])),
    stopGraceSeconds: () => readInteger(pod()["terminationGracePeriodSeconds"]),
    containers: () => [
      ...readItems(pod()["initContainers"]).map((container) =>
        readContainer(readFields(container), { pod, init: readFields(container)["restartPolicy"] !== "Always" }),
      ),
      ...readItems(pod()["containers"]).map((container) =>
        readContainer(readFields(container), { pod, init: name === "Job" || name === "CronJob" }),
      ),
    ],
  };
}

function readLabels(template: Fields): Fields {
  return readFields(readFields(template["metadata"])["labels"]);
}

function readContainer(container: Fields, { pod, init }: Readonly<{ pod: () => Fields; init: boolean }>): Container {
  const own = () => readFields(container["securityContext"]);
  const shared = () => readFields(pod()["securityContext"]);
  const capabilities = () => readFields(own()["capabilities"]);
  return {
    name: readText(container["name"]) ?? "unnamed",
    image: () => readText(container["image"]),
    variables: () => readItems(container["env"]).flatMap((entry) => readVariable(readFields(entry))),
    privileged: () => isOn(own()["privileged"]),
    user: () => readUser(own(), shared()),
    readOnlyRoot: () => own()["readOnlyRootFilesystem"] === true,
    dropsAll: () => readItems(capabilities()["drop"]).includes("ALL"),
    addedCapabilities: () => readItems(capabilities()["add"]).map(String),
    noNewPrivileges: () => own()["allowPrivilegeEscalation"] === false,
    seccompUnconfined: () => {
      const profile = readFields(own()["seccompProfile"] ?? shared()["seccompProfile"])["type"];
      return profile !== "RuntimeDefault" && profile !== "Localhost";
    },
    limits: () => {
      const limits = readFields(readFields(container["resources"])["limits"]);
      return { cpu: limits["cpu"] !== undefined, memory: limits["memory"] !== undefined };
    },
    probes: () => ({
      ready: container["readinessProbe"] !== undefined,
      live: container["livenessProbe"] !== undefined,
    }),
    mounts: () => readItems(container["volumeMounts"]).map((mount) => readVolumeMount(readFields(mount), pod())),
    exposed: () =>
      readItems(container["ports"]).flatMap((port) => {
        const { hostPort, hostIP, containerPort } = readFields(port);
        return hostPort === undefined
          ? []
          : [{ number: readInteger(containerPort) ?? 0, address: readText(hostIP) ?? "0.0.0.0" }];
      }),
    oneShot: () => init,
  };
}

/** Reads the user that a container runs as. `runAsNonRoot` alone leaves the user id to the image, but rules out root. */
function readUser(own: Fields, shared: Fields): string | undefined {
  const uid = own["runAsUser"] ?? shared["runAsUser"];
  if (uid !== undefined) return String(uid);
  return (own["runAsNonRoot"] ?? shared["runAsNonRoot"]) === true ? "non-root" : undefined;
}

function readVariable({ name, value, valueFrom }: Fields): readonly Variable[] {
  const known = readText(name);
  if (known === undefined) return [];
  return [{ name: known, value: valueFrom === undefined ? (readText(value) ?? "") : undefined }];
}

function readVolumeMount({ mountPath, name }: Fields, pod: Fields): Mount {
  const volume = readItems(pod["volumes"])
    .map(readFields)
    .find((candidate) => candidate["name"] === name);
  return {
    path: readText(mountPath) ?? "",
    hostPath: readText(readFields(volume?.["hostPath"])["path"]),
    temporary: volume?.["emptyDir"] !== undefined,
  };
}
