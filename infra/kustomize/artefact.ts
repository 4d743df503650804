import { tokenAddress } from "#devnet/token/address.ts";
import { renderObjects } from "./render-objects.ts";
import { buildBase } from "./base.ts";
import { buildOverlay } from "./overlay.ts";
import { buildOwnOverlay } from "./own-overlay.ts";
import { placeTree, type Tree } from "./tree.ts";

const prefix = "gatehouse";

/** References of Gatehouse's images. */
export type ReleaseImages = Readonly<{ gatehouse: string; devnet: string }>;

type Config = Readonly<Record<string, string>>;

/** Stand-ins for the keys of whoever deploys, which no file shows: Secrets are named there, not written. */
export const standInSecrets = {
  signerPrivateKey: `0x${"5e".repeat(32)}`,
  domainKey: "stand-in of domain.key",
  stabilizingKey: "stand-in of stabilizing.key",
} as const;

/** Stand-in for the URL of a database. */
export const standInDatabase = "postgresql://stand-in:stand-in-password@database.example:5432/gatehouse";

const routes = {
  "GET /data": {
    accepts: { scheme: "exact", network: "eip155:1672", price: "$0.01" },
    description: "What your upstream answers",
    mimeType: "application/json",
    upstream: "https://upstream.example/data",
  },
};

/** Builds the configuration of a real node of which nothing is public yet. */
function buildConfig({ gatehouse }: ReleaseImages): Config {
  return {
    ...standInSecrets,
    gatehouseImage: gatehouse,
    nodeImage: "registry.example/node:0.16.2",
    nodeVersion: "0.16.2",
    nodeUser: "1000",
    payTo: `0x${"0".repeat(39)}1`,
    tokenAddress: `0x${"0".repeat(39)}2`,
    routes: JSON.stringify(routes),
  };
}

/** Configuration of somebody else: where it differs, everybody has to put in a value. */
const somebodyElses: Config = {
  nodeImage: "registry.example/another:0.16.1",
  nodeVersion: "0.16.1",
  payTo: `0x${"a".repeat(40)}`,
  tokenAddress: `0x${"b".repeat(40)}`,
  tokenName: "EURC",
  tokenVersion: "1",
  chainId: "1673",
  routes: JSON.stringify({
    "GET /data": { ...routes["GET /data"], accepts: { ...routes["GET /data"].accepts, network: "eip155:1673" } },
  }),
};

const hosts = { gatewayHost: "rpc.example", resourceServerHost: "paid.example" };

/** Configuration that an overlay adds to the base, by its folder. */
export const variants: Readonly<Record<string, Config>> = {
  ingress: { ingress: JSON.stringify({ ...hosts, tlsSecret: "public-tls" }) },
  "gateway-api": { gatewayApi: JSON.stringify({ ...hosts, name: "public", namespace: "gateways" }) },
  replicated: {
    databaseUrl: standInDatabase,
    facilitatorReplicas: '{"min":2,"max":6}',
    resourceServerReplicas: '{"min":2,"max":6}',
  },
};

/** Renders the stack of a folder of the artefact: a variant, or the base. */
export function renderVariant(images: ReleaseImages, variant: Config = {}): ReturnType<typeof renderObjects> {
  return renderObjects({ ...buildConfig(images), ...variant }, prefix);
}

/**
 * Builds the files that Kubernetes takes without Pulumi: a base with a real node, overlays, one to fill in, and the whole system on a local chain. The
 * same bytes for the same release. No secret is in them but the keys of the devnet, which everybody knows.
 */
export async function buildArtefact(images: ReleaseImages): Promise<Tree> {
  const base = await renderVariant(images);
  const files: (readonly [string, string])[] = [...placeTree("base", buildBase(base))];
  for (const [name, variant] of Object.entries(variants)) {
    const objects = await renderVariant(images, variant);
    files.push(...placeTree(`overlays/${name}`, buildOverlay(base, objects, "../../base")));
  }
  const another = await renderVariant(images, somebodyElses);
  files.push(...placeTree("overlays/yours", buildOwnOverlay(base, another, "../../base")));
  files.push(...placeTree("devnet", buildBase(await renderDevnet(images), { areKnown: true })));
  return new Map(files);
}

function renderDevnet({ gatehouse, devnet }: ReleaseImages): ReturnType<typeof renderObjects> {
  const config = {
    gatehouseImage: gatehouse,
    devnetImage: devnet,
    devAccounts: "true",
    tokenAddress,
    nodeVolumeGibibytes: "10",
    protectData: "false",
  };
  return renderObjects(config, prefix);
}
