import { defineShutdown } from "#daemon/settings/common-settings.ts";
import { section } from "#daemon/settings/section.ts";
import { defineSettings } from "#daemon/settings/settings.ts";
import { host, port } from "#daemon/settings/types.ts";
import { defaultPorts } from "#daemon/default-ports.ts";

const usual = ["listen.port"];

export const upstreamSettings = defineSettings("upstream", usual, {
  shutdown: defineShutdown(5_000),
  listen: section({
    host: host.default("127.0.0.1").describe("Listen address of the sample upstream"),
    port: port.default(defaultPorts.upstream.http).describe("Listen port of the sample upstream"),
  }),
});
