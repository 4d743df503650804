/** A variable of a container; `value` is undefined if it comes from a reference. */
export type Variable = Readonly<{ name: string; value: string | undefined }>;

/** A directory or file that a container mounts. */
export type Mount = Readonly<{
  path: string;
  /** Path on the host, for bind mounts and hostPath volumes. */
  hostPath: string | undefined;
  /** Whether the volume is lost with the container or pod. */
  temporary: boolean;
}>;

/** A port that something outside the host or cluster network can reach. */
type ExposedPort = Readonly<{ number: number; address: string }>;

/** A container of either kind. Every reader reads its own properties only, so that one unknown value spoils one rule at most. */
export type Container = Readonly<{
  name: string;
  image: () => string | undefined;
  variables: () => readonly Variable[];
  privileged: () => boolean;
  /** `undefined`: the image decides. */
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
  /** Runs once and ends, or never: no probes, no restarts. */
  oneShot: () => boolean;
}>;

/** One Docker container, or the pods that a Kubernetes object makes. */
export type Workload = Readonly<{
  kind: "docker" | "kubernetes";
  /** Service of Gatehouse, by the label `io.gatehouse.service` or `app.kubernetes.io/component`. */
  service: () => string | undefined;
  /** Labels by which a network policy selects its pods; none of a Docker container. */
  podLabels: () => Readonly<Record<string, unknown>>;
  /** Namespaces that it shares with the host: `network`, `pid`, `ipc`. */
  hostNamespaces: () => readonly string[];
  stopGraceSeconds: () => number | undefined;
  containers: () => readonly Container[];
}>;
