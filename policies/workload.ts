/** A container's environment variable; `value` is undefined if it comes from a reference. */
export type Variable = Readonly<{ name: string; value: string | undefined }>;

export type Mount = Readonly<{
  path: string;
  /** Path on the host, for bind mounts and hostPath volumes. */
  hostPath: string | undefined;
  /** Whether the volume is lost with the container or pod. */
  temporary: boolean;
}>;

/** A port that is reachable from outside the host or cluster network. */
type ExposedPort = Readonly<{ number: number; address: string }>;

/** A container on either platform. Every reader reads only its own properties, so that one unknown value affects at most one rule. */
export type Container = Readonly<{
  name: string;
  image: () => string | undefined;
  variables: () => readonly Variable[];
  privileged: () => boolean;
  /** `undefined`: determined by the image. */
  user: () => string | undefined;
  readOnlyRoot: () => boolean;
  dropsAll: () => boolean;
  addedCapabilities: () => readonly string[];
  noNewPrivileges: () => boolean;
  seccompUnconfined: () => boolean;
  limits: () => Readonly<{ cpu: boolean; memory: boolean }>;
  probes: () => Readonly<{ ready: boolean; live: boolean }>;
  mounts: () => readonly Mount[];
  exposed: () => readonly ExposedPort[];
  /** Whether the container runs at most once and then exits, without probes or restarts. */
  oneShot: () => boolean;
}>;

/** One Docker container, or the pods that a Kubernetes object creates. */
export type Workload = Readonly<{
  kind: "docker" | "kubernetes";
  /** Gatehouse service, as given by the label `io.gatehouse.service` or `app.kubernetes.io/component`. */
  service: () => string | undefined;
  /** Labels with which network policies select the workload's pods; empty for a Docker container. */
  podLabels: () => Readonly<Record<string, unknown>>;
  /** Namespaces shared with the host: `network`, `pid`, `ipc`. */
  hostNamespaces: () => readonly string[];
  stopGraceSeconds: () => number | undefined;
  containers: () => readonly Container[];
}>;
