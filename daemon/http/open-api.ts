import { z } from "zod";
import { version } from "../version.ts";
import { openApiPath } from "./operator-paths.ts";

export type ApiResponse = Readonly<{
  description: string;
  body?: z.ZodType;
  /** Media type of a non-JSON body, or the types to choose from by `Accept`. */
  text?: string | readonly string[];
}>;

/** An optional request header, or a required path parameter. */
export type ApiParameter = Readonly<{ name: string; description: string }>;

/** Credentials of a caller, each in one header. */
export type ApiSecurity = "bearer" | "apiKey";

/** One method of a path, as in OpenAPI. */
export type ApiOperation = Readonly<{
  method: "get" | "post";
  /** Path, with parameters as `{name}`. */
  path: string;
  summary: string;
  description?: string;
  /** Parameters for the path's `{name}`s. */
  pathParameters?: readonly ApiParameter[];
  headers?: readonly ApiParameter[];
  body?: z.ZodType;
  /** Any of these authorizes a caller. */
  security?: readonly ApiSecurity[];
  /** A listener other than the one that serves the document. */
  server?: Readonly<{ url: string; description: string }>;
  /** Responses by status; all others are `{error}`. */
  responses: Readonly<Record<number, ApiResponse>>;
}>;

export type Api = Readonly<{ title: string; description: string; operations: readonly ApiOperation[] }>;

/** Response body of a rejected or failed request. */
export const errorBody = z.object({ error: z.string(), requestId: z.string().optional() });

const securitySchemes = {
  bearer: { type: "http", scheme: "bearer" },
  apiKey: { type: "apiKey", in: "header", name: "X-API-Key" },
} as const satisfies Record<ApiSecurity, object>;

const itself: ApiOperation = {
  method: "get",
  path: openApiPath,
  summary: "This document",
  responses: { 200: { description: "An OpenAPI 3.1 document", body: z.looseObject({ openapi: z.string() }) } },
};

export function buildOpenApiDocument({ title, description, operations }: Api) {
  const all = [...operations, itself];
  const used = new Set(all.flatMap(({ security = [] }) => security));
  const paths: Record<string, Record<string, ReturnType<typeof buildOperationObject>>> = {};
  for (const operation of all) (paths[operation.path] ??= {})[operation.method] = buildOperationObject(operation);
  return {
    openapi: "3.1.1",
    info: { title, version, description, license: { name: "Apache-2.0", identifier: "Apache-2.0" } },
    servers: [{ url: "/" }],
    paths,
    ...(used.size === 0
      ? {}
      : {
          components: { securitySchemes: Object.fromEntries([...used].map((name) => [name, securitySchemes[name]])) },
        }),
  };
}

function buildOperationObject(operation: ApiOperation) {
  const { method, path, summary, description, body, security = [], server, responses: answers } = operation;
  const parameters = [
    ...(operation.pathParameters ?? []).map((part) => buildParameterObject(part, { in: "path", required: true })),
    ...(operation.headers ?? []).map((header) => buildParameterObject(header, { in: "header" })),
  ];
  const responses = Object.entries(answers).map(([status, answer]) => [status, buildResponseObject(answer)] as const);
  return {
    operationId: [method, ...path.split(/\W+/)].filter((part) => part !== "").join("-"),
    summary,
    ...(description === undefined ? {} : { description }),
    ...(parameters.length === 0 ? {} : { parameters }),
    ...(body === undefined ? {} : { requestBody: { required: true, content: buildJsonContent(body) } }),
    ...(security.length === 0 ? {} : { security: security.map((name) => ({ [name]: [] })) }),
    ...(server === undefined ? {} : { servers: [server] }),
    responses: {
      ...Object.fromEntries(responses),
      default: buildResponseObject({ description: "Rejected or failed", body: errorBody }),
    },
  };
}

function buildParameterObject(
  { name, description }: ApiParameter,
  location: Readonly<{ in: string; required?: boolean }>,
) {
  return { name, ...location, description, schema: { type: "string" } };
}

function buildResponseObject({ description, body, text }: ApiResponse) {
  if (body !== undefined) return { description, content: buildJsonContent(body) };
  if (text === undefined) return { description };
  const types = typeof text === "string" ? [text] : text;
  return { description, content: Object.fromEntries(types.map((type) => [type, { schema: { type: "string" } }])) };
}

function buildJsonContent(schema: z.ZodType) {
  const { $schema: _, ...jsonSchema } = z.toJSONSchema(schema, {
    // Allows later versions to add fields.
    override: ({ jsonSchema: made }) => {
      if (made.additionalProperties === false) delete made.additionalProperties;
    },
  });
  return { "application/json": { schema: jsonSchema } };
}
