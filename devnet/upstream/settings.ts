import { defineSettings, section } from "#daemon/settings/settings.ts";
import { host, port } from "#daemon/settings/types.ts";
import { stackServices } from "#daemon/stack-services.ts";

/** Settings that most deployments set. */
const essentials = ["listen.port"];

/** Settings of the sample upstream. */
export const upstreamSettings = defineSettings("upstream", essentials, {
  listen: section({
    host: host.default("127.0.0.1").describe("Listen address of the sample upstream"),
    port: port.default(stackServices.upstream.ports.http).describe("Listen port of the sample upstream"),
  }),
});
