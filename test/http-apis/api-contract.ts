import { Ajv2020 } from "ajv/dist/2020.js";

type Content = Readonly<Record<string, Readonly<{ schema: object }>>>;
type Operation = Readonly<{ responses: Readonly<Record<string, Readonly<{ content?: Content }>>> }>;

/** The part of an OpenAPI document that responses are compared with. */
export type ApiDocument = Readonly<{ paths: Readonly<Record<string, Readonly<Record<string, Operation>>>> }>;

/** Contract that a service's responses are compared with. */
export type ApiContract = Readonly<{
  /** Describes differences between a response and the document, in either direction; undefined if there are none. */
  breach: (asked: Asked, answer: Answer) => string | undefined;
  /** Operations of which no response has been checked yet. */
  unseen: () => readonly string[];
}>;

type Asked = Readonly<{ method: string; path: string }>;
type Answer = Readonly<{ status: number; type: string; body: string }>;

/** Closes a schema, so that undocumented fields are a violation, although clients must tolerate them. */
function closeSchema(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closeSchema);
  if (typeof schema !== "object" || schema === null) return schema;
  const inner = Object.fromEntries(Object.entries(schema).map(([key, value]) => [key, closeSchema(value)]));
  return "properties" in inner && !("additionalProperties" in inner)
    ? { ...inner, additionalProperties: false }
    : inner;
}

/** Returns whether a path matches the template, with any text for each `{name}`. */
function isFilledIn(template: string, path: string): boolean {
  const [parts, asked] = [template.split("/"), path.split("/")];
  return parts.length === asked.length && parts.every((part, place) => /^\{\w+\}$/.test(part) || part === asked[place]);
}

/** Checks responses against a document. */
export function createApiContract({ paths }: ApiDocument): ApiContract {
  const ajv = new Ajv2020({ strict: false, validateFormats: false });
  const seen = new Set<string>();
  const bodyBreach = (schema: object, body: string) => {
    const validate = ajv.compile(closeSchema(schema) as object);
    return validate(JSON.parse(body)) ? undefined : `${ajv.errorsText(validate.errors)} in ${body.slice(0, 500)}`;
  };
  return {
    breach: ({ method, path }, { status, type, body }) => {
      const documentedPath = path in paths ? path : Object.keys(paths).find((template) => isFilledIn(template, path));
      const operation = paths[documentedPath ?? path]?.[method.toLowerCase()];
      if (operation === undefined) return `${method} ${path} is not documented`;
      seen.add(`${method} ${documentedPath}`);
      const response = operation.responses[status];
      if (response === undefined) return `${method} ${path} answers ${status}, which is not documented`;
      if (response.content === undefined) return undefined;
      const documented = Object.entries(response.content);
      const [contentType, { schema } = { schema: {} }] = documented.find(([known]) => type.startsWith(known)) ?? [];
      const known = documented.map(([name]) => name).join(" or ");
      if (contentType === undefined) return `${method} ${path} answers ${type}, not ${known}`;
      const found = contentType === "application/json" ? bodyBreach(schema, body) : undefined;
      return found && `${method} ${path} answers ${status} otherwise than documented: ${found}`;
    },
    unseen: () =>
      Object.entries(paths)
        .flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`))
        .filter((operation) => !seen.has(operation)),
  };
}

/** A running service, called under its contract. */
export type ContractedService = Readonly<{
  /** Sends a request, and resolves with the status. @throws {Error} if the response is not as documented. */
  ask: (method: "GET" | "POST", path: string, init?: RequestInit, url?: string) => Promise<number>;
  unseen: ApiContract["unseen"];
}>;

/** Reads a service's own document. */
export async function readContractedService(url: string): Promise<ContractedService> {
  const document = (await (await fetch(`${url}/openapi.json`)).json()) as ApiDocument;
  const contract = createApiContract(document);
  return {
    ask: async (method, path, init = {}, at = url) => {
      const response = await fetch(at + path, { ...init, method });
      const body = await response.text();
      const type = response.headers.get("Content-Type") ?? "";
      const breach = contract.breach({ method, path }, { status: response.status, type, body });
      if (breach !== undefined) throw new Error(breach);
      return response.status;
    },
    unseen: contract.unseen,
  };
}
