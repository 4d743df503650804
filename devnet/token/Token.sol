// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC3009} from "@openzeppelin/contracts/token/ERC20/extensions/draft-ERC3009.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {SignatureChecker} from "@openzeppelin/contracts/utils/cryptography/SignatureChecker.sol";

/// @title The devnet's dollar: 6 decimals, EIP-3009, worthless.
/// @dev OpenZeppelin's ERC3009 has the (v, r, s) forms that EIP-3009 defines. The forms with one `bytes` signature are
/// those that USDC 2.2 added; they also accept signatures of contract accounts (ERC-1271).
contract Token is ERC3009 {
    /// @param holders Accounts that hold tokens from the start.
    /// @param amount Amount that each of them holds, in the smallest unit.
    constructor(address[] memory holders, uint256 amount) ERC20("USDC", "USDC") EIP712("USDC", "2") {
        for (uint256 i = 0; i < holders.length; ++i) {
            _mint(holders[i], amount);
        }
    }

    function decimals() public pure override returns (uint8) {
        return 6;
    }

    /// @notice Version of the EIP-712 domain.
    function version() external view returns (string memory) {
        return _EIP712Version();
    }

    /// @notice Separator of the EIP-712 domain.
    function DOMAIN_SEPARATOR() external view returns (bytes32) {
        return _domainSeparatorV4();
    }

    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) external {
        _requireTransferSignature(
            TRANSFER_WITH_AUTHORIZATION_TYPEHASH, from, to, value, validAfter, validBefore, nonce, signature
        );
        _transferWithAuthorization(from, to, value, validAfter, validBefore, nonce);
    }

    function receiveWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) external {
        require(to == _msgSender(), ERC20InvalidReceiver(to));
        _requireTransferSignature(
            RECEIVE_WITH_AUTHORIZATION_TYPEHASH, from, to, value, validAfter, validBefore, nonce, signature
        );
        _transferWithAuthorization(from, to, value, validAfter, validBefore, nonce);
    }

    function cancelAuthorization(address authorizer, bytes32 nonce, bytes memory signature) external {
        _requireSignature(
            authorizer, keccak256(abi.encode(CANCEL_AUTHORIZATION_TYPEHASH, authorizer, nonce)), signature
        );
        _cancelAuthorization(authorizer, nonce);
    }

    function _requireTransferSignature(
        bytes32 typeHash,
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) private view {
        _requireSignature(
            from, keccak256(abi.encode(typeHash, from, to, value, validAfter, validBefore, nonce)), signature
        );
    }

    function _requireSignature(address signer, bytes32 structHash, bytes memory signature) private view {
        bytes32 digest = _hashTypedDataV4(structHash);
        require(SignatureChecker.isValidSignatureNow(signer, digest, signature), ERC3009InvalidSignature());
    }
}
