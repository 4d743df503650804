import { defaultPorts } from "#daemon/default-ports.ts";

/** A port that a host publishes, and its name there: on the public address, or on loopback, for operators and TLS proxies. */
type HostPort = Readonly<{ as: string; at: "public" | "loopback" }>;

/** Properties of a service that don't depend on where it runs (in `npm start`, in a deployment, or alone). */
type ServiceRow = Readonly<{
  /**
   * The image that runs it; the devnet image runs the devnet node. Services in Gatehouse's own images have settings that a stack may set.
   */
  image: string;
  /** The default official image of a stack, for all of its platforms. */
  official?: string;
  /** The service's TCP ports by name: the default in its settings, and the port in its container. */
  ports: Readonly<Record<string, number>>;
  /** The ports that a container host publishes; the others are reachable only from other containers. */
  published?: Readonly<Record<string, HostPort>>;
  /** The operator port: `/livez`, `/readyz`, `/metrics` and `/configuration`. */
  operations?: string;
  /** The port of `/metrics`, if not `operations`. */
  metrics?: string;
  /** Whether samples keep their original labels; a Pushgateway's samples have the job under which they were pushed. */
  honorLabels?: true;
  /** Kind of the service's irreplaceable data, chain data or a ledger: a stack stores it in a volume named `<service>-<kind>`. */
  keeps?: "workspace" | "ledger" | "data";
}>;

/**
 * The services of a stack, one row each, keyed by the name from which the names of containers, Kubernetes objects and scrape jobs are
 * derived, for deployments, `gatehouse stack`, `gatehouse doctor` and Prometheus.
 */
export const stackServices = {
  node: {
    image: "node",
    ports: defaultPorts.node,
    keeps: "workspace",
  },
  sidecar: {
    image: "gatehouse",
    ports: defaultPorts.sidecar,
    published: {
      rpc: { as: "gateway", at: "public" },
      "private-rpc": { as: "privateGateway", at: "loopback" },
      status: { as: "status", at: "loopback" },
    },
    operations: "status",
  },
  "engine-proxy": { image: "gatehouse", ports: {} },
  restore: { image: "gatehouse", ports: {} },
  "volume-snapshot": { image: "gatehouse", ports: {} },
  pushgateway: {
    image: "pushgateway",
    official: "prom/pushgateway:v1.11.3@sha256:74fa117cef2d7e383112d25139ff1c2d2e309c35389a9e0554a47136a1482e48",
    ports: defaultPorts.pushgateway,
    published: { http: { as: "pushgateway", at: "loopback" } },
    metrics: "http",
    honorLabels: true,
  },
  facilitator: {
    image: "gatehouse",
    ports: defaultPorts.facilitator,
    operations: "operations",
    keeps: "ledger",
  },
  "resource-server": {
    image: "gatehouse",
    ports: defaultPorts["resource-server"],
    published: {
      http: { as: "resourceServer", at: "public" },
      operations: { as: "resourceServerOperations", at: "loopback" },
    },
    operations: "operations",
    keeps: "ledger",
  },
  upstream: { image: "devnet", ports: defaultPorts.upstream },
  postgres: {
    image: "postgres",
    ports: { sql: 5_432 },
    keeps: "data",
  },
  prometheus: {
    image: "prometheus",
    official: "prom/prometheus:v3.5.0@sha256:63805ebb8d2b3920190daf1cb14a60871b16fd38bed42b857a3182bc621f4996",
    ports: { http: 9_090 },
    published: { http: { as: "prometheus", at: "loopback" } },
  },
  alertmanager: {
    image: "alertmanager",
    official: "prom/alertmanager:v0.28.1@sha256:27c475db5fb156cab31d5c18a4251ac7ed567746a2483ff264516437a39b15ba",
    ports: { http: 9_093 },
    published: { http: { as: "alertmanager", at: "loopback" } },
  },
  grafana: {
    image: "grafana",
    official: "grafana/grafana:12.1.1@sha256:a1701c2180249361737a99a01bc770db39381640e4d631825d38ff4535efa47d",
    ports: { http: 3_000 },
    published: { http: { as: "grafana", at: "loopback" } },
  },
} as const satisfies Readonly<Record<string, ServiceRow>>;

export type StackServiceName = keyof typeof stackServices;

type ServiceWith<Key extends string> = {
  [Name in StackServiceName]: (typeof stackServices)[Name] extends Readonly<Record<Key, unknown>> ? Name : never;
}[StackServiceName];

type ServiceWithImage<Image extends string> = {
  [Name in StackServiceName]: (typeof stackServices)[Name]["image"] extends Image ? Name : never;
}[StackServiceName];

type PublishedPortName<Row> = Row extends { published: infer Ports extends Readonly<Record<string, HostPort>> }
  ? Ports[keyof Ports]["as"]
  : never;

export type HostPortName = PublishedPortName<(typeof stackServices)[StackServiceName]>;

export type PublishedPort = HostPort & Readonly<{ service: StackServiceName; port: string; as: HostPortName }>;

/** The services with Gatehouse settings, even if a real node replaces the devnet. */
export type ServiceWithSettings = ServiceWithImage<(typeof ownImages)[number]>;

export type OperatedService = ServiceWith<"operations">;

export type ScrapedService = OperatedService | ServiceWith<"metrics">;

const ownImages = ["gatehouse", "devnet", "node"] as const;

const names = Object.keys(stackServices) as StackServiceName[];

const rows: Readonly<Record<StackServiceName, ServiceRow>> = stackServices;

/** Returns a service's row, with all optional properties. */
export function findServiceRow(name: StackServiceName): ServiceRow {
  return rows[name];
}

export function listStackServices(): readonly StackServiceName[] {
  return names;
}

export function listPublishedPorts(): readonly PublishedPort[] {
  return names.flatMap((service) =>
    Object.entries(rows[service].published ?? {}).map(([port, { as, at }]) => ({
      service,
      port,
      as: as as HostPortName,
      at,
    })),
  );
}

export function listServicesWithSettings(): readonly ServiceWithSettings[] {
  return names.filter((name): name is ServiceWithSettings =>
    ownImages.some((own) => own === stackServices[name].image),
  );
}

export function listOperatedServices(): readonly Readonly<{ name: OperatedService; port: number }>[] {
  return names.filter(isOperatedService).map((name) => ({ name, port: findOperationsPort(name) }));
}

export function listScrapedServices(): readonly ScrapedService[] {
  return names.filter(
    (name): name is ScrapedService => "operations" in stackServices[name] || "metrics" in stackServices[name],
  );
}

export function isOperatedService(name: string): name is OperatedService {
  return names.some((known) => known === name && "operations" in stackServices[known]);
}

export function findOperationsPort(name: OperatedService): number {
  const { operations, ports } = rows[name];
  const port = operations === undefined ? undefined : ports[operations];
  if (port === undefined) throw new Error(`${name} has no port named ${operations}`);
  return port;
}
