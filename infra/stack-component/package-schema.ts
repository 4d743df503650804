import { z } from "zod";
import { version } from "#daemon/version.ts";
import { secretKeys } from "../config/config-schema.ts";
import { inputsSchema } from "./stack-inputs.ts";

/** Prefix of the package's types in Pulumi and its state. */
const packageName = "gatehouse";

export const componentType = `${packageName}:index:Stack`;

/** A value in a Pulumi package schema (Pulumi's documentation, "Package schema"). */
export type Property = Readonly<{
  type?: "string" | "integer" | "number" | "boolean" | "array" | "object";
  $ref?: string;
  items?: Property;
  additionalProperties?: Property;
  description?: string;
  default?: unknown;
  secret?: true;
}>;

/** An object with named properties; properties that are not required may be absent. */
export type ObjectType = Readonly<{
  type: "object";
  description?: string;
  properties: Readonly<Record<string, Property>>;
  required: readonly string[];
}>;

/** The parts of a package schema that Gatehouse uses. */
export type PackageSchema = Readonly<{
  name: string;
  version: string;
  description: string;
  license: string;
  language: Readonly<Record<string, unknown>>;
  resources: Readonly<
    Record<
      string,
      ObjectType &
        Readonly<{
          isComponent: true;
          inputProperties: Readonly<Record<string, Property>>;
          requiredInputs: readonly string[];
        }>
    >
  >;
  types: Readonly<Record<string, ObjectType>>;
}>;

const languages = ["nodejs", "python", "go", "csharp", "java"] as const;

/** The parts used here of the JSON Schema that zod generates for an input. */
const jsonSchema = z.object({
  type: z.enum(["string", "integer", "number", "boolean", "array", "object"]).optional(),
  description: z.string().optional(),
  default: z.unknown().optional(),
  anyOf: z.array(z.unknown()).optional(),
  items: z.unknown().optional(),
  properties: z.record(z.string(), z.unknown()).optional(),
  required: z.array(z.string()).optional(),
  additionalProperties: z.unknown().optional(),
});

const text: Property = { type: "string" };
const texts: Property = { type: "object", additionalProperties: text };

const outputTypes: Readonly<Record<string, ObjectType>> = {
  Urls: buildObjectType({
    public: { ...texts, description: "Public endpoints: gateway, gatewayWebSocket, resourceServer" },
    tokenHolders: { ...texts, description: "Endpoints for holders of a purchased token: privateGateway" },
    operations: { ...texts, description: "Endpoints for operators: status, metrics, ready and monitoring" },
  }),
  Signer: buildObjectType({
    address: { ...text, description: "Address of the account" },
    howToFund: { ...text, description: "How to fund it for gas" },
  }),
  GivenConfiguration: buildObjectType({
    settingsSha256: { ...text, description: "Digest of the service's settings" },
    files: { ...texts, description: "Digests of the service's hot-reloaded files, by name" },
  }),
  UnreadyService: buildObjectType({
    service: { ...text, description: "Name of the service" },
    reason: { ...text, description: "Why it is not ready" },
    check: { ...text, description: "Command that checks it again" },
  }),
  Grafana: buildObjectType({
    user: { ...text, description: "User name" },
    password: { ...text, description: "Password", secret: true },
  }),
};

const outputs: Readonly<Record<string, Property>> = {
  urls: { ...buildReference("Urls"), description: "URLs by audience" },
  status: { ...text, description: "URL of the sidecar's status as JSON; without the path, the status page" },
  tryThis: { type: "array", items: text, description: "Commands that show what is running" },
  signer: { ...buildReference("Signer"), description: "Account that pays gas for settlements" },
  configuration: {
    type: "object",
    additionalProperties: buildReference("GivenConfiguration"),
    description: "Configuration of each service, by name, for gatehouse doctor --drift",
  },
  notReady: {
    type: "array",
    items: buildReference("UnreadyService"),
    description: "Services that run but are not ready yet; absent if they can be reached only through a given provider",
  },
  grafana: {
    ...buildReference("Grafana"),
    description: "Grafana login; absent if the stack has no Grafana",
    secret: true,
  },
};

export function buildPackageSchema(): PackageSchema {
  const types: Record<string, ObjectType> = {};
  const secrets = new Set<string>(secretKeys);
  const inputs = toObjectType(inputsSchema, "", types);
  const inputProperties = Object.fromEntries(
    Object.entries(inputs.properties).map(([key, property]) => [
      key,
      secrets.has(key) ? { ...property, secret: true as const } : property,
    ]),
  );
  return {
    name: packageName,
    version,
    description: "A guarded EVM node, its public RPC and pay-per-request routes.",
    license: "Apache-2.0",
    language: Object.fromEntries(languages.map((language) => [language, { respectSchemaVersion: true }])),
    resources: {
      [componentType]: {
        isComponent: true,
        ...buildObjectType(outputs, ["grafana", "notReady"]),
        description:
          "The whole system: a guarded node, its Pushgateway, a facilitator and a resource server, on a Docker host or in a namespace of a Kubernetes cluster.",
        inputProperties,
        requiredInputs: inputs.required,
      },
    },
    types: nameTypes({ ...types, ...outputTypes }),
  };
}

export function printPackageSchema(): string {
  return JSON.stringify(buildPackageSchema());
}

function nameTypes(types: Readonly<Record<string, ObjectType>>): PackageSchema["types"] {
  return Object.fromEntries(Object.entries(types).map(([name, type]) => [`${packageName}:index:${name}`, type]));
}

function buildReference(name: string): Property {
  return { $ref: `#/types/${packageName}:index:${name}` };
}

function buildObjectType(properties: Readonly<Record<string, Property>>, optional: readonly string[] = []): ObjectType {
  return { type: "object", properties, required: Object.keys(properties).filter((key) => !optional.includes(key)) };
}

/** Adds nested objects to `types`, each named by its path: `ObservabilityPrometheus`. */
function toObjectType(schema: z.ZodType, path: string, types: Record<string, ObjectType>): ObjectType {
  return readObject(z.toJSONSchema(schema, { io: "input", unrepresentable: "any" }), path, types);
}

function readObject(schema: unknown, path: string, types: Record<string, ObjectType>): ObjectType {
  const { properties = {}, required = [], description } = jsonSchema.parse(schema);
  return {
    type: "object",
    ...(description === undefined ? {} : { description }),
    properties: Object.fromEntries(
      Object.entries(properties).map(([key, property]) => [
        key,
        readProperty(property, path + key.charAt(0).toUpperCase() + key.slice(1), types),
      ]),
    ),
    required,
  };
}

function readProperty(schema: unknown, path: string, types: Record<string, ObjectType>): Property {
  const whole = jsonSchema.parse(schema);
  // A value with several formats, such as IPv4 and IPv6 addresses, has one type.
  const parsed = whole.anyOf === undefined ? whole : { ...whole, ...jsonSchema.parse(whole.anyOf[0]) };
  const described = whole.description === undefined ? {} : { description: whole.description };
  if (parsed.properties !== undefined) {
    types[path] = readObject(schema, path, types);
    return { ...buildReference(path), ...described };
  }
  switch (parsed.type) {
    case undefined:
      return { $ref: "pulumi.json#/Any", ...described };
    case "array":
      return { type: "array", items: readProperty(parsed.items, path, types), ...described };
    case "object":
      return {
        type: "object",
        additionalProperties: readProperty(parsed.additionalProperties, path, types),
        ...described,
      };
    default:
      return { type: parsed.type, ...described, ...(parsed.default === undefined ? {} : { default: parsed.default }) };
  }
}
