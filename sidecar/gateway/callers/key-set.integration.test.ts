import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from "jose";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startFakeNode, type FakeNode } from "../testing/fake-node.ts";
import { post, startTestGateway, until, type TestGateway } from "../testing/test-gateway.ts";

type Signer = Readonly<{ kid: string; publicJwk: JWK; privateKey: CryptoKey }>;

async function makeSigner(kid: string): Promise<Signer> {
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  return { kid, privateKey, publicJwk: { ...(await exportJWK(publicKey)), kid, alg: "ES256", use: "sig" } };
}

const tokenOf = ({ kid, privateKey }: Signer, subject: string) =>
  new SignJWT({ tier: "paid" })
    .setProtectedHeader({ alg: "ES256", kid })
    .setSubject(subject)
    .setExpirationTime("1h")
    .sign(privateKey);

/** Serves a key set that a test changes, and can be away. */
async function startKeyServer() {
  const state = { keys: [] as JWK[], isAway: false, asked: 0 };
  const server = createServer((_, response) => {
    state.asked += 1;
    if (state.isAway) response.destroy();
    else response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify({ keys: state.keys }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    state,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/.well-known/jwks.json`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

describe("tokens by a key set's URL", () => {
  let node: FakeNode;
  let keyServer: Awaited<ReturnType<typeof startKeyServer>>;
  let gateway: TestGateway;
  let first: Signer;
  beforeEach(async () => {
    node = await startFakeNode();
    keyServer = await startKeyServer();
    first = await makeSigner("first");
    keyServer.state.keys = [first.publicJwk];
    gateway = await startTestGateway(node, {
      public: { enabled: false },
      private: { enabled: true },
      jwt: { jwksUrl: keyServer.url, refetchMs: 50 },
    });
  });
  afterEach(async () => {
    await gateway[Symbol.asyncDispose]();
    await keyServer[Symbol.asyncDispose]();
    await node[Symbol.asyncDispose]();
  });
  const statusWith = async (token: string) => {
    const body = '{"jsonrpc":"2.0","id":1,"method":"eth_coinbase"}';
    return (await post(gateway.urls["private"]!, body, { Authorization: `Bearer ${token}` })).status;
  };

  it("reads the set once for many tokens", async () => {
    for (const subject of ["a", "b", "c", "a"]) expect(await statusWith(await tokenOf(first, subject))).toBe(200);
    expect(keyServer.state.asked).toBe(1);
  });

  it("takes the keys of a set that was changed, and no longer those that went", async () => {
    const second = await makeSigner("second");
    expect(await statusWith(await tokenOf(first, "a"))).toBe(200);
    keyServer.state.keys = [second.publicJwk];
    const token = await tokenOf(second, "b");
    await until("the new key is taken", async () => (await statusWith(token)) === 200);
    expect(await statusWith(await tokenOf(first, "new"))).toBe(401);
  });

  it("refuses tokens while the set can't be had, but not those that it has verified, and recovers", async () => {
    keyServer.state.isAway = true;
    const token = await tokenOf(first, "a");
    expect(await statusWith(token)).toBe(401);
    keyServer.state.isAway = false;
    await until("the set is read", async () => (await statusWith(token)) === 200);
    keyServer.state.isAway = true;
    const stranger = await makeSigner("stranger");
    expect(await statusWith(await tokenOf(stranger, "a"))).toBe(401);
    expect(await statusWith(token)).toBe(200);
    expect(await statusWith(await tokenOf(first, "b"))).toBe(200);
  });

  it("takes no token that was signed by another key under the same name", async () => {
    const stranger = await makeSigner("first");
    expect(await statusWith(await tokenOf(first, "a"))).toBe(200);
    expect(await statusWith(await tokenOf(stranger, "a"))).toBe(401);
  });
});
