import { expect, test } from "vitest";
import { startFakeNode } from "#gateway/testing/fake-node.ts";
import { createCertificateMaker, hasOpenssl, serveTls, withoutOpenssl } from "../support/certificates.ts";
import { startService } from "../support/service-process.ts";
import { generousMs, until } from "#daemon/testing/until.ts";

type Reported = Readonly<{ type: string; status: string; reason: string; message: string }>;

test.skipIf(!hasOpenssl)(
  `a gateway reports what clients have against the certificate of the proxy before it, and serves on${withoutOpenssl}`,
  async () => {
    await using certificates = await createCertificateMaker();
    const root = await certificates.make(400);
    const long = await certificates.make(60, root);
    await using node = await startFakeNode();
    node.answer(() => "0x1");
    await using started = new AsyncDisposableStack();
    let proxy = started.use(await serveTls([long, root]));
    const { url } = proxy;
    await using gateway = await startService("gateway", {
      NODE_EXTRA_CA_CERTS: root.certFile,
      GATEHOUSE_GATEWAY_NODE_HTTP_URL: node.httpUrl,
      GATEHOUSE_GATEWAY_NODE_CHAIN_ID: "1",
      GATEHOUSE_GATEWAY_PUBLIC_PORT: "0",
      GATEHOUSE_GATEWAY_LISTEN_PORT: "0",
      GATEHOUSE_GATEWAY_HEALTH_WEB_SOCKET: "false",
      GATEHOUSE_GATEWAY_CERTIFICATE_URLS: `${url}/rpc?key=hidden`,
      GATEHOUSE_GATEWAY_CERTIFICATE_INTERVAL_MS: "100",
    });
    const operations = gateway.urls["operations"] ?? "";
    const reported = (reason: string) =>
      until(`the certificate is ${reason}`, generousMs, async () => {
        const answer = await fetch(`${operations}/status`);
        const { conditions } = (await answer.json()) as { conditions: readonly Reported[] };
        return conditions.find((condition) => condition.type === "CertificateValid" && condition.reason === reason);
      });
    const readEnd = async () => {
      const metrics = await (await fetch(`${operations}/metrics`)).text();
      return /^gatehouse_certificate_not_after_timestamp_seconds\{url="([^"]+)"\} (\S+)$/m.exec(metrics)?.slice(1);
    };
    expect(await reported("Valid")).toEqual(
      expect.objectContaining({ status: "True", message: `Certificates hold: ${url} for 59 days.` }),
    );
    const [shown, end] = (await readEnd()) ?? [];
    expect(shown).toBe(url);
    expect(Math.round((Number(end) - Date.now() / 1_000) / 86_400)).toBe(60);

    proxy.show([await certificates.make(5, root), root]);
    expect(await reported("ExpiresSoon")).toMatchObject({
      status: "False",
      message: expect.stringContaining("in 4 days"),
    });
    proxy.show([await certificates.make(60)]);
    expect((await reported("Untrusted")).message).toContain("SELF_SIGNED");
    await proxy[Symbol.asyncDispose]();
    expect(await reported("NotSeen")).toMatchObject({
      status: "Unknown",
      message: expect.stringContaining(`${url} shows no certificate (ECONNREFUSED)`),
    });
    expect(await readEnd()).toBeUndefined();
    expect((await fetch(`${operations}/readyz`)).status).toBe(200);

    proxy = started.use(await serveTls([long, root], Number(new URL(url).port)));
    expect(await reported("Valid")).toMatchObject({ status: "True" });
  },
);
