import * as Address from "ox/Address";
import { z } from "zod";

/**
 * An account or contract address: 20 bytes, 0x-prefixed hexadecimal. In mixed case, its checksum (EIP-55) must be correct, which catches
 * typos.
 */
export const address = z
  .templateLiteral(["0x", z.string()])
  .refine((value) => /^0x[0-9a-fA-F]{40}$/.test(value), {
    abort: true,
    message: "expected an address: 0x and 40 hexadecimal digits",
  })
  .refine(
    (value) => !/[a-f]/.test(value) || Address.validate(value),
    "its checksum is wrong (EIP-55), so a character is mistyped: copy the address again",
  )
  .meta({
    expected: "an address: 0x and 40 hexadecimal digits, with a correct checksum (EIP-55) if in mixed case",
  });
