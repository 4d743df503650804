import { connect } from "node:net";
import { createServer, getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { startFakeNode } from "#gateway/testing/fake-node.ts";
import { call, startTestGateway } from "#gateway/testing/test-gateway.ts";
import { RedisConnector } from "#gateway/limits/redis-rate-limiter.ts";
import { listenLocally } from "#daemon/testing/local-server.ts";
import { createCertificateIssuer, hasOpenssl, withoutOpenssl, type Certificate } from "../../support/certificates.ts";

describe.skipIf(!hasOpenssl)(`a server with TLS${withoutOpenssl}`, () => {
  const trusted = getCACertificates("default");
  let certificate: Certificate;
  beforeAll(async () => {
    await using certificates = await createCertificateIssuer();
    certificate = await certificates.make(1);
    setDefaultCACertificates([...trusted, certificate.cert]);
  });
  afterAll(() => setDefaultCACertificates(trusted));

  /** Terminates TLS for a port, and notes the server names that clients ask for. */
  const serveTls = async (behindPort: number) => {
    const names: unknown[] = [];
    const server = createServer({ key: certificate.key, cert: certificate.cert }, (socket) => {
      names.push(socket.servername);
      const behind = connect(behindPort, "127.0.0.1");
      socket.pipe(behind).pipe(socket);
      for (const end of [socket, behind]) end.on("error", () => [socket, behind].forEach((each) => each.destroy()));
    });
    return { names, ...(await listenLocally(server)) };
  };

  it.each([
    ["localhost", "localhost"],
    ["127.0.0.1", false],
  ])("is queried as the gateway's node at %s", async (host, name) => {
    await using node = await startFakeNode();
    await using front = await serveTls(Number(new URL(node.httpUrl).port));
    const urls = { httpUrl: `https://${host}:${front.port}`, webSocketUrl: `wss://${host}:${front.port}` };
    await using gateway = await startTestGateway(urls);
    expect((await call(gateway.url, "eth_syncing")).result).toBe("0x1");
    expect(new Set(front.names)).toEqual(new Set([name]));
  });

  it("is connected to as a rate store by its name", async () => {
    await using front = await serveTls(1);
    const stream = await new RedisConnector({ host: "localhost", port: front.port, tls: {} }).connect();
    await new Promise((resolve) => stream.once("close", resolve));
    expect(front.names).toEqual(["localhost"]);
  });
});
