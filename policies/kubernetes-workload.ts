import type { PolicyResource } from "./rule.ts";
import { fields, isOn, items, text, whole } from "./values.ts";
import type { Container, Mount, Variable, Workload } from "./workload.ts";

/** The label that says which service of Gatehouse a pod is. */
const kubernetesServiceLabel = "app.kubernetes.io/component";

type Fields = Readonly<Record<string, unknown>>;

/** The Kubernetes kinds that make pods, and where their pod template stands. */
const templates: Readonly<Record<string, (spec: Fields) => Fields>> = {
  Deployment: (spec) => fields(spec["template"]),
  StatefulSet: (spec) => fields(spec["template"]),
  DaemonSet: (spec) => fields(spec["template"]),
  ReplicaSet: (spec) => fields(spec["template"]),
  Job: (spec) => fields(spec["template"]),
  CronJob: (spec) => fields(fields(fields(spec["jobTemplate"])["spec"])["template"]),
};

const kind = /^kubernetes:(?:core|apps|batch)\/v[0-9a-z]+:(\w+)$/;

/** A Kubernetes object that makes pods, as a workload. */
export function kubernetesWorkload({ type, props }: PolicyResource): Workload | undefined {
  const name = kind.exec(type)?.[1];
  if (name === undefined || (name !== "Pod" && templates[name] === undefined)) return undefined;
  const template = (): Fields => (name === "Pod" ? props : (templates[name]?.(fields(props["spec"])) ?? {}));
  const pod = (): Fields => fields(template()["spec"]);
  return {
    kind: "kubernetes",
    service: () => text(fields(fields(template()["metadata"])["labels"])[kubernetesServiceLabel]),
    hostNamespaces: () =>
      [
        ["network", "hostNetwork"],
        ["pid", "hostPID"],
        ["ipc", "hostIPC"],
      ].flatMap(([namespace = "", key = ""]) => (isOn(pod()[key]) ? [namespace] : [])),
    stopGraceSeconds: () => whole(pod()["terminationGracePeriodSeconds"]),
    containers: () => [
      ...items(pod()["initContainers"]).map((container) =>
        kubernetesContainer(fields(container), { pod, init: fields(container)["restartPolicy"] !== "Always" }),
      ),
      ...items(pod()["containers"]).map((container) =>
        kubernetesContainer(fields(container), { pod, init: name === "Job" || name === "CronJob" }),
      ),
    ],
  };
}

function kubernetesContainer(
  container: Fields,
  { pod, init }: Readonly<{ pod: () => Fields; init: boolean }>,
): Container {
  const own = () => fields(container["securityContext"]);
  const shared = () => fields(pod()["securityContext"]);
  const capabilities = () => fields(own()["capabilities"]);
  return {
    name: text(container["name"]) ?? "unnamed",
    image: () => text(container["image"]),
    variables: () => items(container["env"]).flatMap((entry) => variable(fields(entry))),
    privileged: () => isOn(own()["privileged"]),
    user: () => runAs(own(), shared()),
    readOnlyRoot: () => own()["readOnlyRootFilesystem"] === true,
    dropsAll: () => items(capabilities()["drop"]).includes("ALL"),
    addedCapabilities: () => items(capabilities()["add"]).map(String),
    noNewPrivileges: () => own()["allowPrivilegeEscalation"] === false,
    seccompUnconfined: () => {
      const profile = fields(own()["seccompProfile"] ?? shared()["seccompProfile"])["type"];
      return profile !== "RuntimeDefault" && profile !== "Localhost";
    },
    limits: () => {
      const limits = fields(fields(container["resources"])["limits"]);
      return { cpu: limits["cpu"] !== undefined, memory: limits["memory"] !== undefined };
    },
    probes: () => ({
      ready: container["readinessProbe"] !== undefined,
      live: container["livenessProbe"] !== undefined,
    }),
    mounts: () => items(container["volumeMounts"]).map((mount) => volumeMount(fields(mount), pod())),
    exposed: () =>
      items(container["ports"]).flatMap((port) => {
        const { hostPort, hostIP, containerPort } = fields(port);
        return hostPort === undefined
          ? []
          : [{ number: whole(containerPort) ?? 0, address: text(hostIP) ?? "0.0.0.0" }];
      }),
    oneShot: () => init,
  };
}

/** The user that a container runs as; `runAsNonRoot` alone leaves the number to the image but rules root out. */
function runAs(own: Fields, shared: Fields): string | undefined {
  const uid = own["runAsUser"] ?? shared["runAsUser"];
  if (uid !== undefined) return String(uid);
  return (own["runAsNonRoot"] ?? shared["runAsNonRoot"]) === true ? "non-root" : undefined;
}

function variable({ name, value, valueFrom }: Fields): readonly Variable[] {
  const known = text(name);
  if (known === undefined) return [];
  return [{ name: known, value: valueFrom === undefined ? (text(value) ?? "") : undefined }];
}

function volumeMount({ mountPath, name }: Fields, pod: Fields): Mount {
  const volume = items(pod["volumes"])
    .map(fields)
    .find((candidate) => candidate["name"] === name);
  return {
    path: text(mountPath) ?? "",
    hostPath: text(fields(volume?.["hostPath"])["path"]),
    temporary: volume?.["emptyDir"] !== undefined,
  };
}
