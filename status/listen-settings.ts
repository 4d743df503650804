import { allowedHosts, host, port } from "#daemon/settings/types.ts";
import { pageLinks } from "#daemon/http/page-links.ts";
import { section, fixed } from "#daemon/settings/section.ts";
import { defaultPorts } from "#daemon/default-ports.ts";

/** Listener for health, metrics and status, and for a sidecar's page. */
export const listenSection = section({
  host: host.default("127.0.0.1").describe("Address of the health, metrics and status listener"),
  port: port.default(defaultPorts.sidecar.status).describe("Port of the health, metrics and status listener"),
  allowedHosts,
  requestTimeoutMs: fixed(5_000),
  pages: pageLinks,
});
