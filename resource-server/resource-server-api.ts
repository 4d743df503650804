import { z } from "zod";
import { operationsApi } from "#daemon/http/operations-api.ts";
import type { Api, ApiOperation } from "#daemon/http/open-api.ts";
import { servicePageApi } from "#status/status-api.ts";
import type { ResourceServerSettings } from "./settings.ts";

/** Describes the resource server's own responses, on its operator port and its selling port; excludes the resources for sale. */
export function describeResourceServerApi(
  { publicUrl, listen }: Pick<ResourceServerSettings, "publicUrl" | "listen">,
  { sellsTokens }: Readonly<{ sellsTokens: boolean }>,
): Api {
  const url = publicUrl ?? `http://127.0.0.1:${listen.port}`;
  const server = { url, description: "The listener for buyers" };
  const soldOperations: readonly ApiOperation[] = [
    {
      method: "get",
      path: "/health",
      summary: "Liveness of the listener for buyers",
      server,
      responses: { 200: { description: "The listener responds", body: z.object({ status: z.literal("ok") }) } },
    },
    ...(sellsTokens ? [{ ...jwks, server }] : []),
  ];
  return {
    title: "Gatehouse resource server",
    description:
      "For operators. The routes file lists the routes for sale; unpaid requests to them on the buyers' port get 402 with PAYMENT-REQUIRED (x402 version 2).",
    operations: [...operationsApi, ...servicePageApi, ...soldOperations],
  };
}

const jwks: ApiOperation = {
  method: "get",
  path: "/.well-known/jwks.json",
  summary: "Public keys that verify purchased access tokens",
  responses: {
    200: { description: "A JSON Web Key Set", body: z.object({ keys: z.array(z.looseObject({ kty: z.string() })) }) },
  },
};
