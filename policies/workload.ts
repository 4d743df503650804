/** Container variable; `value` is undefined if it comes from a reference. */
export type Variable = Readonly<{ name: string; value: string | undefined }>;

/** Directory or file mounted by a container. */
export type Mount = Readonly<{
  path: string;
  /** Path on the host, for bind mounts and hostPath volumes. */
  hostPath: string | undefined;
  /** Whether the volume is lost with the container or pod. */
  temporary: boolean;
}>;

/** Port reachable from outside the host or cluster network. */
type ExposedPort = Readonly<{ number: number; address: string }>;

/** Container of either kind. Every reader reads only its own properties, so that one unknown value affects at most one rule. */
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
  /** Whether it runs at most once and exits, without probes or restarts. */
  oneShot: () => boolean;
}>;

/** One Docker container, or the pods created by a Kubernetes object. */
export type Workload = Readonly<{
  kind: "docker" | "kubernetes";
  /** Gatehouse service, from the label `io.gatehouse.service` or `app.kubernetes.io/component`. */
  service: () => string | undefined;
  /** Labels by which network policies select its pods; empty for a Docker container. */
  podLabels: () => Readonly<Record<string, unknown>>;
  /** Namespaces shared with the host: `network`, `pid`, `ipc`. */
  hostNamespaces: () => readonly string[];
  stopGraceSeconds: () => number | undefined;
  containers: () => readonly Container[];
}>;
