// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IERC1271} from "@openzeppelin/contracts/interfaces/IERC1271.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";

/// @title The devnet's Permit2: transfers of one token by signature, with a witness.
/// @dev Written for the devnet from the interface of Uniswap's Permit2; not audited. It has the parts that x402 uses, and reverts
/// in the same order with the same errors. It needs no constructor, so that its code can be placed at the canonical address.
contract Permit2 {
    struct TokenPermissions {
        address token;
        uint256 amount;
    }

    struct PermitTransferFrom {
        TokenPermissions permitted;
        uint256 nonce;
        uint256 deadline;
    }

    struct SignatureTransferDetails {
        address to;
        uint256 requestedAmount;
    }

    event UnorderedNonceInvalidation(address indexed owner, uint256 word, uint256 mask);

    error InvalidAmount(uint256 maxAmount);
    error InvalidNonce();
    error SignatureExpired(uint256 signatureDeadline);
    error InvalidSignatureLength();
    error InvalidSignature();
    error InvalidSigner();
    error InvalidContractSignature();

    bytes32 private constant DOMAIN_TYPEHASH =
        keccak256("EIP712Domain(string name,uint256 chainId,address verifyingContract)");
    bytes32 private constant PERMISSIONS_TYPEHASH = keccak256("TokenPermissions(address token,uint256 amount)");
    string private constant WITNESS_TYPE_START =
        "PermitWitnessTransferFrom(TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline,";

    /// @notice Bit n of word w is set once the owner's nonce 256 w + n is used.
    mapping(address owner => mapping(uint256 word => uint256 bits)) public nonceBitmap;

    function DOMAIN_SEPARATOR() public view returns (bytes32) {
        return keccak256(abi.encode(DOMAIN_TYPEHASH, keccak256("Permit2"), block.chainid, address(this)));
    }

    function invalidateUnorderedNonces(uint256 wordPos, uint256 mask) external {
        nonceBitmap[msg.sender][wordPos] |= mask;
        emit UnorderedNonceInvalidation(msg.sender, wordPos, mask);
    }

    function permitWitnessTransferFrom(
        PermitTransferFrom calldata permit,
        SignatureTransferDetails calldata details,
        address owner,
        bytes32 witness,
        string calldata witnessTypeString,
        bytes calldata signature
    ) external {
        bytes32 typeHash = keccak256(abi.encodePacked(WITNESS_TYPE_START, witnessTypeString));
        bytes32 permitted =
            keccak256(abi.encode(PERMISSIONS_TYPEHASH, permit.permitted.token, permit.permitted.amount));
        // The spender is the caller, so only that contract can use the signature.
        bytes32 structHash =
            keccak256(abi.encode(typeHash, permitted, msg.sender, permit.nonce, permit.deadline, witness));
        _transfer(permit, details, owner, structHash, signature);
    }

    function _transfer(
        PermitTransferFrom calldata permit,
        SignatureTransferDetails calldata details,
        address owner,
        bytes32 structHash,
        bytes calldata signature
    ) private {
        require(block.timestamp <= permit.deadline, SignatureExpired(permit.deadline));
        require(details.requestedAmount <= permit.permitted.amount, InvalidAmount(permit.permitted.amount));
        _useNonce(owner, permit.nonce);
        _checkSignature(owner, keccak256(abi.encodePacked(hex"1901", DOMAIN_SEPARATOR(), structHash)), signature);
        bytes memory call = abi.encodeCall(IERC20.transferFrom, (owner, details.to, details.requestedAmount));
        (bool succeeded, bytes memory result) = permit.permitted.token.call(call);
        // Some tokens return nothing.
        bool accepted = result.length == 0 || (result.length >= 32 && abi.decode(result, (uint256)) == 1);
        require(succeeded && accepted, "TRANSFER_FROM_FAILED");
    }

    function _useNonce(address owner, uint256 nonce) private {
        uint256 bit = 1 << (nonce & 0xff);
        uint256 used = nonceBitmap[owner][nonce >> 8];
        require(used & bit == 0, InvalidNonce());
        nonceBitmap[owner][nonce >> 8] = used | bit;
    }

    function _checkSignature(address owner, bytes32 digest, bytes calldata signature) private view {
        if (owner.code.length > 0) {
            bytes4 answer = IERC1271(owner).isValidSignature(digest, signature);
            require(answer == IERC1271.isValidSignature.selector, InvalidContractSignature());
            return;
        }
        address signer = _recover(digest, signature);
        require(signer != address(0), InvalidSignature());
        require(signer == owner, InvalidSigner());
    }

    function _recover(bytes32 digest, bytes calldata signature) private pure returns (address) {
        require(signature.length == 64 || signature.length == 65, InvalidSignatureLength());
        bytes32 r = bytes32(signature[:32]);
        bytes32 s = bytes32(signature[32:64]);
        if (signature.length == 65) return ecrecover(digest, uint8(signature[64]), r, s);
        // ERC-2098: the highest bit of s is v.
        uint8 v = uint8(uint256(s) >> 255) + 27;
        return ecrecover(digest, v, r, bytes32(uint256(s) & uint256(type(int256).max)));
    }
}
