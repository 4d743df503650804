import { createServer } from "node:http";
import { exportJWK, generateKeyPair, SignJWT, type CryptoKey, type JWK } from "jose";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startFakeNode, type FakeNode } from "#gateway/testing/fake-node.ts";
import { connectTestClient } from "#gateway/testing/test-client.ts";
import { post, startTestGateway, type TestGateway } from "#gateway/testing/test-gateway.ts";
import { generousMs, until } from "#daemon/testing/until.ts";
import { listenLocally } from "#daemon/testing/local-server.ts";

type Signer = Readonly<{ kid: string; publicJwk: JWK; privateKey: CryptoKey }>;

async function createSigner(kid: string): Promise<Signer> {
  const { publicKey, privateKey } = await generateKeyPair("ES256");
  return { kid, privateKey, publicJwk: { ...(await exportJWK(publicKey)), kid, alg: "ES256", use: "sig" } };
}

const tokenOf = ({ kid, privateKey }: Signer, subject: string) =>
  new SignJWT({ tier: "paid" })
    .setProtectedHeader({ alg: "ES256", kid })
    .setSubject(subject)
    .setExpirationTime("1h")
    .sign(privateKey);

/** Serves a key set that a test can change or make unavailable. */
async function startKeyServer() {
  const state = { keys: [] as JWK[], isAway: false, asked: 0 };
  const server = createServer((_, response) => {
    state.asked += 1;
    if (state.isAway) response.destroy();
    else response.writeHead(200, { "Content-Type": "application/json" }).end(JSON.stringify({ keys: state.keys }));
  });
  const local = await listenLocally(server);
  return {
    state,
    url: `${local.url}/.well-known/jwks.json`,
    [Symbol.asyncDispose]: local[Symbol.asyncDispose],
  };
}

describe("tokens from a key set URL", () => {
  let node: FakeNode;
  let keyServer: Awaited<ReturnType<typeof startKeyServer>>;
  let gateway: TestGateway;
  let first: Signer;
  const startWith = (jwt: object = {}) =>
    startTestGateway(node, {
      public: { enabled: false },
      private: { enabled: true },
      callers: { recheckMs: 50 },
      jwt: { jwksUrl: keyServer.url, refetchMs: 50, ...jwt },
    });
  beforeEach(async () => {
    node = await startFakeNode();
    keyServer = await startKeyServer();
    first = await createSigner("first");
    keyServer.state.keys = [first.publicJwk];
    gateway = await startWith();
  });
  afterEach(async () => {
    await gateway[Symbol.asyncDispose]();
    await keyServer[Symbol.asyncDispose]();
    await node[Symbol.asyncDispose]();
  });
  const statusWith = async (token: string, asked: TestGateway = gateway) => {
    const body = '{"jsonrpc":"2.0","id":1,"method":"eth_coinbase"}';
    return (await post(asked.urls["private"]!, body, { Authorization: `Bearer ${token}` })).status;
  };

  it("fetches the set once for many tokens", async () => {
    for (const subject of ["a", "b", "c", "a"]) expect(await statusWith(await tokenOf(first, subject))).toBe(200);
    expect(keyServer.state.asked).toBe(1);
  });

  it("accepts added keys and rejects removed ones after a change to the set", async () => {
    const secondSigner = await createSigner("second");
    expect(await statusWith(await tokenOf(first, "a"))).toBe(200);
    keyServer.state.keys = [secondSigner.publicJwk];
    const token = await tokenOf(secondSigner, "b");
    await until("the new key is accepted", generousMs, async () => (await statusWith(token)) === 200);
    expect(await statusWith(await tokenOf(first, "new"))).toBe(401);
  });

  it("rejects new tokens while the set is unavailable, still accepts verified ones, and recovers", async () => {
    keyServer.state.isAway = true;
    const token = await tokenOf(first, "a");
    expect(await statusWith(token)).toBe(401);
    keyServer.state.isAway = false;
    await until("the key set is fetched", generousMs, async () => (await statusWith(token)) === 200);
    keyServer.state.isAway = true;
    const stranger = await createSigner("stranger");
    expect(await statusWith(await tokenOf(stranger, "a"))).toBe(401);
    expect(await statusWith(token)).toBe(200);
    expect(await statusWith(await tokenOf(first, "b"))).toBe(200);
  });

  it("rejects tokens of a withdrawn key and closes their WebSockets at the next fetch", async () => {
    await using checked = await startWith({ keysCheckMs: 100 });
    const [withdrawn, kept] = [await tokenOf(first, "a"), await createSigner("second")];
    keyServer.state.keys = [first.publicJwk, kept.publicJwk];
    const good = await tokenOf(kept, "b");
    for (const token of [withdrawn, good]) expect(await statusWith(token, checked)).toBe(200);
    const clientOf = (token: string) =>
      connectTestClient(checked.urls["private"]!, { Authorization: `Bearer ${token}` });
    await using gone = await clientOf(withdrawn);
    await using stays = await clientOf(good);
    keyServer.state.keys = [kept.publicJwk];
    const withdrawnAt = performance.now();
    expect(await gone.closed).toEqual([1008, "the key or token is no longer valid or has another tier; reconnect"]);
    expect(performance.now() - withdrawnAt).toBeLessThan(50_000);
    expect(await statusWith(withdrawn, checked)).toBe(401);
    expect(await statusWith(good, checked)).toBe(200);
    expect(await stays.ask('{"jsonrpc":"2.0","id":1,"method":"eth_coinbase"}')).toContain('"result"');
    expect(await checked.metrics.metrics()).toContain('gatehouse_gateway_websocket_drops_total{reason="withdrawn"} 1');
  });

  it("rejects all tokens after the set has been unavailable for long", async () => {
    await using checked = await startWith({ keysCheckMs: 100, keysKeptMs: 500 });
    const token = await tokenOf(first, "a");
    expect(await statusWith(token, checked)).toBe(200);
    keyServer.state.isAway = true;
    await until("the token is rejected", generousMs, async () => (await statusWith(token, checked)) === 401);
    keyServer.state.isAway = false;
    await until("tokens are accepted again", generousMs, async () => (await statusWith(token, checked)) === 200);
  });

  it("closes a WebSocket when its token expires", async () => {
    const short = await new SignJWT({ tier: "paid" })
      .setProtectedHeader({ alg: "ES256", kid: "first" })
      .setSubject("a")
      .setExpirationTime("2s")
      .sign(first.privateKey);
    await using client = await connectTestClient(gateway.urls["private"]!, { Authorization: `Bearer ${short}` });
    expect((await client.closed)[0]).toBe(1008);
  });

  it("rejects a token signed by a different key with the same ID", async () => {
    const stranger = await createSigner("first");
    expect(await statusWith(await tokenOf(first, "a"))).toBe(200);
    expect(await statusWith(await tokenOf(stranger, "a"))).toBe(401);
  });
});
