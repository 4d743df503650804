import { pay, type PayOptions } from "../pay.ts";
import { asset, privateKey, createSeller } from "./seller.ts";

export const url = "http://shop.test/data";
export const caps = { privateKey, assets: [asset.address], maxAmount: "50000" };

/** Runs `pay` with exactly these options; like a shell, separates the body from all other output. */
export async function runPay(
  options: Partial<PayOptions>,
  shop: Pick<ReturnType<typeof createSeller>, "fetch"> = createSeller(),
  stdoutFailure?: Error,
) {
  const stdout: (string | Uint8Array)[] = [];
  let stderr = "";
  const status = await pay(
    { url, network: asset.network, assets: [], ...options },
    {
      stdout: { write: (data) => stdout.push(data), finish: async () => stdoutFailure },
      stderr: { write: (text) => (stderr += String(text)) },
      fetch: shop.fetch,
    },
  );
  const body = Buffer.concat(stdout.map((part) => Buffer.from(part)));
  return { status, stdout: body.toString(), bytes: body, stderr };
}
