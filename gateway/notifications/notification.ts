/** A notification of a subscription, serialised once for all that share it. */
export type Notification = Readonly<{
  /** JSON text of what it tells. */
  result: string;
  /** Bytes of a subscriber's message from the result on; what comes before them names the subscriber's own subscription. */
  tail: Buffer;
}>;

/** Serialises a notification; `result` is JSON text, a character a byte. */
export function serializeNotification(result: string): Notification {
  return { result, tail: Buffer.from(`${result}}}`, "latin1") };
}

/** Bytes of a subscriber's messages up to the result; `id` is the JSON text of its subscription's id. */
export function notificationPrefix(id: string): Buffer {
  return Buffer.from(`{"jsonrpc":"2.0","method":"eth_subscription","params":{"subscription":${id},"result":`, "latin1");
}
