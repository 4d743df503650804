import type { IncomingMessage, Server } from "node:http";
import { BlockList, Socket, type Server as NetServer, type SocketAddress } from "node:net";
import type { SocketHandle } from "../hand-over/socket-exchange.ts";

/**
 * Code that rests on Node's internals, which are undocumented: an accepted socket and a request hand on what they read
 * by their `push`, a server serves a connection by its "connection" listeners, it checks its `blockList` before it
 * makes a socket, its listening socket is its `_handle`, which can be sent to another process as it is, and a socket's handle
 * reads into a buffer of ours once the socket has that and a callback under two symbols. All of it stands here; the tests fail when Node changes.
 */

/** The socket that a server listens on. A server itself can be sent to another process, too, but would begin to take connections there. */
export function findListeningSocket(server: NetServer): SocketHandle {
  return (server as NetServer & Readonly<{ _handle: SocketHandle }>)._handle;
}

/** Serves a connection. */
export type ServeConnection = (socket: Socket) => void;

/**
 * Puts something before whoever serves a server's connections: it gets every new one first, and gives on to `behind` what it does not
 * serve itself. To be called before the server listens; what is put there last comes first.
 */
export function putBefore(server: Server, before: (behind: ServeConnection) => ServeConnection): void {
  const listeners = server.listeners("connection");
  server.removeAllListeners("connection");
  server.on(
    "connection",
    before((socket) => {
      for (const listener of listeners) Reflect.apply(listener, server, [socket]);
    }),
  );
}

/** Check that a server makes before it makes a socket of a connection that it has accepted. */
class Admission extends BlockList {
  readonly #mayCome: (remoteAddress: string) => boolean;

  constructor(mayCome: (remoteAddress: string) => boolean) {
    super();
    this.#mayCome = mayCome;
  }

  override check(address: string | SocketAddress): boolean {
    return !this.#mayCome(typeof address === "string" ? address : address.address);
  }
}

/**
 * Checks a connection before a server makes a socket of it; one that may not come is closed without a word, which costs a fifth of a socket and
 * of what serves it. Node gives a server such a list when it is created, and a `node:http` server none.
 */
export function admitBefore(server: NetServer, mayCome: (remoteAddress: string) => boolean): void {
  Object.assign(server, { blockList: new Admission(mayCome) });
}

/** Makes a server that takes connections for another one check as that does. */
export function admitAlike(server: NetServer, other: NetServer): void {
  Object.assign(server, { blockList: (other as NetServer & Readonly<{ blockList?: BlockList }>).blockList });
}

/** Steers the reading of a socket whose reads were taken. */
export type SocketReads = Readonly<{
  /** Goes on after `received` answered false. */
  resume: () => void;
  /** Gives the reading back to the socket's stream. */
  release: () => void;
}>;

const nothing = Buffer.alloc(0);

/** Most bytes of one read. */
const readBytes = 65_536;
/** Memory of all diverted reads: one ends before the next begins. */
const readBuffer = Buffer.allocUnsafeSlow(readBytes);

/** Symbols under which a socket has the buffer that it reads into, and what is called then; undefined if this Node has others. */
const readInto = findReadSymbols();

function findReadSymbols(): Readonly<{ buffer: symbol; callback: symbol }> | undefined {
  const symbols = Object.getOwnPropertySymbols(new Socket());
  const [buffer, callback] = ["kBuffer", "kBufferCb"].map((name) => symbols.find((one) => one.description === name));
  return buffer === undefined || callback === undefined ? undefined : { buffer, callback };
}

type ReadingHandle = Readonly<{ useUserBuffer?: (buffer: Buffer) => void }>;

/** Has a socket read into the buffer of all; each read goes to `received`, and false ends the reading until somebody reads again. */
function readIntoBuffer(socket: Socket, received: (bytes: Buffer) => boolean): void {
  const handle = (socket as Socket & Readonly<{ _handle?: ReadingHandle | null }>)._handle;
  if (readInto === undefined || handle?.useUserBuffer === undefined) return;
  const isFirst = Reflect.get(socket, readInto.buffer) !== readBuffer;
  if (isFirst) handle.useUserBuffer(readBuffer);
  const callback = (length: number) => received(readBuffer.subarray(0, length));
  Object.assign(socket, { [readInto.buffer]: readBuffer, [readInto.callback]: callback });
}

/**
 * Takes what an accepted socket reads before it goes through the socket's stream, as `onread` does for a socket that connects; Node has no
 * such option for a server's sockets. The stream's part, a buffer for each read that is looked after and a tick, is a good part of what a
 * short request costs. Its end and its errors come as ever. `received` answers false to be given no more until `resume`. The bytes that it gets
 * are overwritten by the next ones, of whatever socket: what is to stay is copied.
 */
export function divertReads(socket: Socket, received: (bytes: Buffer) => boolean): SocketReads {
  let isStopped = false;
  let isReleased = false;
  const push = socket.push.bind(socket);
  // An empty piece ends the stream's read, so that it reads again.
  const readAgain = () => void push(nothing);
  const receive = (bytes: Buffer) => {
    isStopped = !received(bytes) && !isReleased;
    return !isStopped;
  };
  socket.push = (bytes: Buffer | null) => (bytes === null ? push(null) : receive(bytes));
  readIntoBuffer(socket, receive);
  return {
    resume: () => {
      if (!isStopped) return;
      isStopped = false;
      readAgain();
    },
    release: () => {
      isReleased = true;
      isStopped = false;
      Reflect.deleteProperty(socket, "push");
      readIntoBuffer(socket, (bytes) => push(copyBytes(bytes)));
      readAgain();
    },
  };
}

function copyBytes(bytes: Buffer): Buffer {
  const own = Buffer.allocUnsafeSlow(bytes.length);
  own.set(bytes);
  return own;
}

/** Gives bytes to whoever reads a socket, as if they had come now. */
export function returnRead(socket: Socket, bytes: Buffer): void {
  socket.push(bytes);
}

/** Bytes of a body that are handed on together; a chunk of so many is handed on as it is. */
const gatheredBytes = 16_384;

/**
 * Gathers the chunks of request bodies before anything reads them. Each chunk that a web stream hands on costs some 20 µs and 200 bytes: a body
 * in chunks, or packets, of a byte would take a thousand times the CPU and memory of one that comes whole. Gathered, it takes what its bytes do.
 */
export function gatherChunks(server: Server): void {
  server.prependListener("request", (incoming: IncomingMessage) => gather(incoming));
}

function gather(incoming: IncomingMessage): void {
  const push = incoming.push.bind(incoming);
  let buffer: Buffer | undefined;
  let length = 0;
  const handOn = (): boolean => {
    const whole = buffer?.subarray(0, length);
    buffer = undefined;
    length = 0;
    return whole === undefined || push(whole);
  };
  // What the parser calls for each chunk (node:http hands bodies to their readers by it), with null at the end.
  incoming.push = (chunk: Buffer | null): boolean => {
    if (chunk === null) {
      handOn();
      return push(null);
    }
    if (length + chunk.length > gatheredBytes) {
      const wantsMore = handOn();
      if (chunk.length >= gatheredBytes) return push(chunk);
      buffer = growBuffer(undefined, 0, chunk.length);
      chunk.copy(buffer);
      length = chunk.length;
      return wantsMore;
    }
    buffer = growBuffer(buffer, length, length + chunk.length);
    chunk.copy(buffer, length);
    length += chunk.length;
    return true;
  };
}

/** Returns a buffer with room for `needed` bytes that begins with the first `used` of another one. */
function growBuffer(buffer: Buffer | undefined, used: number, needed: number): Buffer {
  if (buffer !== undefined && needed <= buffer.length) return buffer;
  const larger = Buffer.allocUnsafe(Math.min(gatheredBytes, Math.max(needed, 2 * used)));
  buffer?.copy(larger, 0, 0, used);
  return larger;
}
