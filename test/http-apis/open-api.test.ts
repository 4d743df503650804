import { Validator } from "@seriousme/openapi-schema-validator";
import { describe, expect, it } from "vitest";
import { pino } from "pino";
import { Registry } from "prom-client";
import { createApp, type App } from "#daemon/http/app.ts";
import { buildOpenApiDocument, type Api } from "#daemon/http/open-api.ts";
import { operationsApi } from "#daemon/http/operations-api.ts";
import { addOpenApiRoute, addOperationsRoutes } from "#daemon/http/operations-listener.ts";
import { evaluateReadiness } from "#daemon/http/readiness.ts";
import { facilitatorApi } from "#facilitator/facilitator-api.ts";
import { addFacilitatorRoutes, createPaymentPosts } from "#facilitator/http.ts";
import { gatewayApi } from "#gateway/main.ts";
import { describeResourceServerApi } from "#resource-server/resource-server-api.ts";
import { resourceServerSettings } from "#resource-server/settings.ts";
import { describeSidecarApi } from "#sidecar/sidecar-api.ts";
import { addGuardedControlRoutes } from "#sidecar/upkeep/control/listen-control.ts";
import { Secret } from "#daemon/secrets/secret.ts";

const sidecar = describeSidecarApi({ isControlled: true });
const apis: readonly Api[] = [
  facilitatorApi,
  gatewayApi,
  sidecar,
  describeResourceServerApi(
    { publicUrl: "https://shop.example", listen: resourceServerSettings.schema.shape.listen.parse({}) },
    { sellsTokens: true },
  ),
];
const log = pino({ level: "silent" });
const app = () => createApp({ bodyLimitBytes: 1_024 }, { log });
const configuration = () => ({ service: "test", version: "0", settingsSha256: "", files: [] });
const unasked = () => Promise.reject(new Error("not requested here"));
const isControl = (operation: string) => operation.includes(" /control");

function routesOf(routed: App): readonly string[] {
  return routed.routes.filter(({ method }) => method !== "ALL").map(({ method, path }) => `${method} ${path}`);
}

function documented({ operations }: Pick<Api, "operations">): readonly string[] {
  return operations.map(({ method, path }) => `${method.toUpperCase()} ${path}`);
}

describe("openApiDocument", () => {
  it.each(apis)("of $title is valid against the OpenAPI 3.1 schema", async (api) => {
    const result = await new Validator().validate(structuredClone(buildOpenApiDocument(api)));
    expect(result).toEqual({ valid: true });
  });

  it("is served unchanged", async () => {
    const routed = app();
    addOpenApiRoute(routed, () => facilitatorApi);
    const response = await routed.request("/openapi.json");
    expect([response.status, await response.json()]).toEqual([200, buildOpenApiDocument(facilitatorApi)]);
  });
});

describe("documented routes match the served routes", () => {
  it("by the facilitator", () => {
    const routed = app();
    const facilitator = {
      networks: [{ network: "eip155:1672" }],
      verify: unasked,
      settle: unasked,
      supported: () => ({ kinds: [], extensions: [], signers: {} }),
    } as const;
    const served = { facilitator, apiKeys: undefined, log };
    addFacilitatorRoutes(routed, served);
    const posts = Object.keys(createPaymentPosts(served)).map((path) => `POST ${path}`);
    expect([...routesOf(routed), ...posts].toSorted()).toEqual(documented(facilitatorApi).toSorted());
  });

  it("on the admin port", () => {
    const routed = app();
    addOperationsRoutes(routed, { metrics: new Registry(), readiness: () => evaluateReadiness({}), configuration });
    expect(routesOf(routed).toSorted()).toEqual(documented({ operations: operationsApi }).toSorted());
  });

  it("under /control", () => {
    const routed = app();
    addGuardedControlRoutes(routed, () => undefined, new Secret("token"));
    expect(routesOf(routed).filter(isControl).toSorted()).toEqual(documented(sidecar).filter(isControl).toSorted());
  });
});
