import { open, rm, writeFile } from "node:fs/promises";
import { z } from "zod";
import { parseJson } from "./plain-text.ts";
import type { PaymentEvent } from "./payment-event.ts";
import type { Fetch } from "./repeating-fetch.ts";

type SignedEvent = Extract<PaymentEvent, { type: "payment-signed" }>;

/** A payment whose outcome is unknown: its request, what was signed, and the header that carries it. */
type SavedPayment = Readonly<{ url: string; method: string; header: string; event: SignedEvent }>;

export type PaymentFile = Readonly<{
  /** The payment of an earlier run. */
  saved: SavedPayment | undefined;
  /** Notes what was signed, to be saved with the header. */
  noteSigned: (event: PaymentEvent) => void;
  /** Wraps a `fetch`: saves a payment before it is first sent. */
  saveSent: (fetch: Fetch) => Fetch;
  /** Deletes the file: the outcome is known. */
  remove: () => Promise<void>;
}>;

/** The file can't be read or written, or has another request's payment; detected before any payment. */
export class PaymentFileError extends Error {
  override readonly name = "PaymentFileError";
  readonly code = "payment_file_unusable";
}

const savedSchema = z.object({
  url: z.string(),
  method: z.string(),
  header: z.string(),
  event: z.custom<SignedEvent>((value) => (value as SignedEvent | undefined)?.type === "payment-signed"),
});

/**
 * Opens the file that stores a payment before it is sent, until its outcome is known, so that another run resends it, which charges once,
 * instead of signing a new one. Only the file's owner may read it, because anyone who has the payment can have it charged.
 *
 * @throws {PaymentFileError}
 */
export async function openPaymentFile(
  path: string,
  { url, method }: Readonly<{ url: string; method: string }>,
): Promise<PaymentFile> {
  const text = await readOrCreate(path);
  const saved = text === "" ? undefined : savedSchema.safeParse(parseJson(text)).data;
  if (text !== "" && saved === undefined)
    throw new PaymentFileError(`--payment-file ${path} has no payment; specify another file, or delete it.`);
  if (saved !== undefined && (saved.url !== url || saved.method !== method))
    throw new PaymentFileError(
      `--payment-file ${path} has the payment of another request, ${saved.method} ${saved.url}; repeat that one, or specify another file.`,
    );
  let signed: SignedEvent | undefined;
  let isSaved = saved !== undefined;
  return {
    saved,
    noteSigned: (event) => {
      if (event.type === "payment-signed") signed = event;
    },
    saveSent: (fetch) => async (input, init) => {
      const header = new Headers(input instanceof Request ? input.headers : init?.headers).get("PAYMENT-SIGNATURE");
      if (header !== null && signed !== undefined && !isSaved) {
        await writeFile(path, JSON.stringify({ url, method, header, event: signed }), { flush: true });
        isSaved = true;
      }
      return fetch(input, init);
    },
    remove: () => rm(path, { force: true }),
  };
}

async function readOrCreate(path: string): Promise<string> {
  try {
    await using file = await open(path, "a+", 0o600);
    return await file.readFile("utf8");
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    throw new PaymentFileError(`--payment-file ${path} can't be written (${code}).`, { cause });
  }
}
