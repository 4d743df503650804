import { createCertificateMaker, serveTls } from "../../support/certificates.ts";

/** A public URL that a sidecar watches, and what is shown there. */
export type WatchedCertificate = AsyncDisposable &
  Readonly<{
    env: Readonly<Record<string, string>>;
    /** Shows a certificate that ends in so many days, or one that nobody trusts. Disposing of it shows the good one again. */
    show: (certificate: Readonly<{ days: number; isTrusted: boolean }>) => Promise<AsyncDisposable>;
    /** Shows none at all. Disposing of it shows the good one again. */
    hide: () => Promise<AsyncDisposable>;
  }>;

/** Shows a certificate of 60 days, signed by an authority that `env` has the services trust. */
export async function startWatchedCertificate(): Promise<WatchedCertificate> {
  await using started = new AsyncDisposableStack();
  const { make } = started.use(await createCertificateMaker());
  const root = await make(400);
  const good = await make(60, root);
  let server = await serveTls([good, root]);
  started.defer(() => server[Symbol.asyncDispose]());
  const { url } = server;
  const owned = started.move();
  return {
    env: {
      NODE_EXTRA_CA_CERTS: root.certFile,
      GATEHOUSE_SIDECAR_CERTIFICATE_URLS: url,
      GATEHOUSE_SIDECAR_CERTIFICATE_INTERVAL_MS: "1000",
    },
    show: async ({ days, isTrusted }) => {
      server.show(isTrusted ? [await make(days, root), root] : [await make(days)]);
      return { [Symbol.asyncDispose]: async () => server.show([good, root]) };
    },
    hide: async () => {
      await server[Symbol.asyncDispose]();
      return {
        [Symbol.asyncDispose]: async () => {
          server = await serveTls([good, root], Number(new URL(url).port));
        },
      };
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}
