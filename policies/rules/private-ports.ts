import { defaultPorts } from "../../daemon/default-ports.ts";
import type { PolicyResource, ResourceRule } from "../rule.ts";
import { readFields, readItems, readText, readInteger } from "../values.ts";
import { findWorkload } from "../workload-of.ts";

/** Port on which each caller needs a token, so that an Ingress with TLS may expose it; without TLS, the tokens would leak. */
const privateGateway = defaultPorts.sidecar["private-rpc"];

/** Ports for controlling nodes or for data: the node's RPC and internal RPC, the Pushgateway, and the services' status and metrics. */
const privatePortNames: Readonly<Record<number, string>> = {
  [defaultPorts.node.http]: "the node's JSON-RPC over HTTP",
  [defaultPorts.node.webSocket]: "the node's JSON-RPC over WebSocket",
  [defaultPorts.node.rpc]: "the node's internal RPC",
  [defaultPorts.pushgateway.http]: "the Pushgateway",
  [defaultPorts.sidecar.status]: "the sidecar's status",
  [defaultPorts["resource-server"].operations]: "the resource server's health and metrics",
  [defaultPorts.facilitator.operations]: "the facilitator's health and metrics",
  9_090: "Prometheus",
  9_093: "Alertmanager",
  [defaultPorts.facilitator.http]: "the facilitator or Grafana",
  5_432: "PostgreSQL",
  [privateGateway]: "the gateway's private listener",
  [defaultPorts.gateway["internal-rpc"]]: "the gateway's internal listener",
};

const loopback = /^(127\.|::1$|localhost$)/;

export const privatePorts: ResourceRule = {
  scope: "resource",
  name: "private-ports",
  severity: "critical",
  why: "The node's own RPC has no limits or access control, and the Pushgateway accepts any push.",
  remedy: "Publish the gateway (8545) and the resource server (4021) only; bind operators' ports to loopback.",
  check: (resource) => [
    ...checkContainerPorts(resource),
    ...checkServicePorts(resource),
    ...checkBackendPorts(resource),
  ],
};

function checkContainerPorts(resource: PolicyResource): readonly string[] {
  const containers = findWorkload(resource)?.containers() ?? [];
  return containers
    .flatMap((container) => container.exposed())
    .filter(({ address }) => !loopback.test(address))
    .flatMap(({ number, address }) => {
      if (number === 0) return ["publishes all of its ports"];
      const what = privatePortNames[number];
      return what === undefined ? [] : [`publishes port ${number} (${what}) on ${address}`];
    });
}

function checkServicePorts({ type, props }: PolicyResource): readonly string[] {
  if (type !== "kubernetes:core/v1:Service") return [];
  const spec = readFields(props["spec"]);
  const kind = readText(spec["type"]) ?? "ClusterIP";
  if (kind !== "LoadBalancer" && kind !== "NodePort" && readItems(spec["externalIPs"]).length === 0) return [];
  return readItems(spec["ports"]).flatMap((port) => {
    const { port: number, targetPort } = readFields(port);
    const what = privatePortNames[readInteger(number) ?? 0] ?? privatePortNames[readInteger(targetPort) ?? 0];
    return what === undefined ? [] : [`exposes ${what} through a Service of type ${kind}`];
  });
}

/** Checks the ports that an Ingress or a Gateway API route exposes publicly. */
function checkBackendPorts({ type, props }: PolicyResource): readonly string[] {
  const spec = readFields(props["spec"]);
  const rules = readItems(spec["rules"]).map(readFields);
  return listPublishedPorts(type, rules, spec).flatMap((number) => {
    const what = privatePortNames[readInteger(number) ?? 0];
    return what === undefined || number === privateGateway ? [] : [`makes ${what} public`];
  });
}

function listPublishedPorts(
  type: string,
  rules: readonly Readonly<Record<string, unknown>>[],
  spec: Readonly<Record<string, unknown>>,
): readonly unknown[] {
  if (type === "kubernetes:networking.k8s.io/v1:Ingress") {
    const paths = rules.flatMap((rule) => readItems(readFields(rule["http"])["paths"]).map(readFields));
    const services = [...paths.map(({ backend }) => backend), spec["defaultBackend"]].map(
      (backend) => readFields(backend)["service"],
    );
    return services.map((service) => readFields(readFields(service)["port"])["number"]);
  }
  if (!/^kubernetes:gateway\.networking\.k8s\.io\/v1(beta1)?:HTTPRoute$/.test(type)) return [];
  return rules.flatMap((rule) => readItems(rule["backendRefs"]).map((backend) => readFields(backend)["port"]));
}
