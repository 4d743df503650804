import { listOperatedServices, findServiceRow } from "../stack-services.ts";
import type { StackConfig } from "../config/config-schema.ts";
import { listHostPorts } from "./host-ports.ts";

/** Services not built by Gatehouse that serve their own operator page. */
const watchers: ReadonlySet<string> = new Set(["prometheus", "alertmanager", "grafana"]);

/**
 * Lists a stack's pages as `name=URL`, as reached from an operator's browser: via the loopback ports of a Docker host, or on Kubernetes via
 * `kubectl port-forward` with the services' own ports.
 */
export function listServicePages(config: StackConfig): readonly string[] {
  if (config.target === "kubernetes") return listOperatedServices().map(({ name, port }) => formatPage(name, port));
  return listHostPorts(config)
    .filter(({ service, port }) => findServiceRow(service).operations === port || watchers.has(service))
    .map(({ service, number }) => formatPage(service, number));
}

function formatPage(name: string, port: number): string {
  return `${name}=http://127.0.0.1:${port}/`;
}
