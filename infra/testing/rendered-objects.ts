import { runtime } from "@pulumi/pulumi";
import { version } from "#daemon/version.ts";
import { tokenAddress } from "#devnet/token/address.ts";
import { deployStack } from "../deploy-stack.ts";
import { parseConfig } from "../stack-config.ts";

/** A Kubernetes object as applied. */
export type KubernetesObject = Readonly<{
  apiVersion: string;
  kind: string;
  metadata: Readonly<{ name: string; namespace?: string; labels?: Readonly<Record<string, string>> }>;
}> &
  Readonly<Record<string, unknown>>;

type Config = Readonly<Record<string, string>>;

/** Placeholders for the deployer's keys, which do not appear in any file in `infra/kustomize/`. */
export const placeholderSecrets: Config = {
  signerPrivateKey: `0x${"5e".repeat(32)}`,
  domainKey: "stand-in of domain.key",
  stabilizingKey: "stand-in of stabilizing.key",
};

const gatehouseImage = `registry.example/gatehouse:${version}`;

const routes = {
  "GET /data": {
    accepts: { scheme: "exact", network: "eip155:1672", price: "$0.01" },
    description: "Your upstream's response",
    mimeType: "application/json",
    upstream: "https://upstream.example/data",
  },
};

/** Configuration for a real node without public access. */
const base: Config = {
  ...placeholderSecrets,
  gatehouseImage,
  nodeImage: "registry.example/node:0.16.2",
  nodeVersion: "0.16.2",
  nodeUser: "1000",
  payTo: `0x${"0".repeat(39)}1`,
  tokenAddress: `0x${"0".repeat(39)}2`,
  routes: JSON.stringify(routes),
};

const hosts = { gatewayHost: "rpc.example", resourceServerHost: "paid.example" };
const replicas = JSON.stringify({ min: 2, max: 6 });

/** Stacks in `infra/kustomize/`, by directory. */
export const kustomizedStacks: Readonly<Record<string, Config>> = {
  base,
  "overlays/yours": base,
  "overlays/ingress": { ...base, ingress: JSON.stringify({ ...hosts, tlsSecret: "public-tls" }) },
  "overlays/gateway-api": {
    ...base,
    gatewayApi: JSON.stringify({ ...hosts, name: "public", namespace: "gateways" }),
  },
  "overlays/replicated": {
    ...base,
    databaseUrl: "postgresql://stand-in:stand-in-password@database.example:5432/gatehouse",
    facilitatorReplicas: replicas,
    resourceServerReplicas: replicas,
  },
  devnet: {
    gatehouseImage,
    devnetImage: `registry.example/gatehouse-devnet:${version}`,
    devAccounts: "true",
    tokenAddress,
    nodeVolumeGibibytes: "10",
    protectData: "false",
  },
};

/**
 * Annotations for Pulumi, and a checksum that rolls the pods when a file changes. kustomize does not need the checksum: it includes a
 * content hash in each Secret's name.
 */
const ownAnnotations = /^(?:pulumi\.com\/|gatehouse\.io\/files$)/;

/**
 * Renders a stack's Kubernetes objects without Pulumi's engine. Runs the program against SDK mocks, which stay installed in the process.
 * The objects contain secrets in plain text.
 *
 * @param config the stack's configuration by key, as Pulumi passes it.
 */
export async function renderObjects(config: Config): Promise<readonly KubernetesObject[]> {
  const objects: KubernetesObject[] = [];
  const mocks: runtime.Mocks = {
    newResource: ({ type, name, inputs }) => {
      if (type.startsWith("kubernetes:")) objects.push(stripMarks(inputs) as KubernetesObject);
      return { id: `${name}-id`, state: inputs as object };
    },
    call: ({ inputs }) => inputs as Record<string, unknown>,
  };
  await runtime.setMocks(mocks, "gatehouse", "rendered", false);
  const parsed = parseConfig({ ...config, target: "kubernetes", renderTo: "rendered" });
  // Warnings suggest Pulumi settings, which kustomize users don't have; README.md documents the objects' assumptions.
  await deployStack(parsed, { prefix: "gatehouse", root: ".", warn: () => undefined });
  await runtime.disconnect();
  return objects;
}

/** Removes Pulumi's secret markers and the data that only Pulumi reads. */
function stripMarks(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(stripMarks);
  if (typeof value !== "object" || value === null) return value;
  const fields = value as Readonly<Record<string, unknown>>;
  if (fields[runtime.specialSigKey] === runtime.specialSecretSig) return stripMarks(fields["value"]);
  const cleaned = Object.entries(fields)
    .filter(([key, inner]) => inner !== undefined && !ownAnnotations.test(key))
    .map(([key, inner]) => [key, key === "app.kubernetes.io/managed-by" ? "kustomize" : stripMarks(inner)] as const)
    .filter(([key, inner]) => key !== "annotations" || Object.keys(inner as object).length > 0);
  return Object.fromEntries(cleaned);
}
