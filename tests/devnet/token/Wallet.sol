// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// A wallet that signs by ERC-1271, as smart accounts do. Its owner is who it was made for; where there is none, the code
/// stands at the account of a key (EIP-7702), and that key is the owner.
///
/// Like many it wants more than 65 bytes: the name of a module comes before the owner's signature. A plain signature of the
/// owner's is good too.
contract Wallet {
    address private owner; // slot 0

    constructor(address who) {
        owner = who;
    }

    function isValidSignature(bytes32 hash, bytes calldata signature) external view returns (bytes4) {
        if (signature.length != 65 && signature.length != 85) {
            return 0xffffffff;
        }
        bytes calldata plain = signature[signature.length - 65:];
        address who = owner == address(0) ? address(this) : owner;
        address signer = ecrecover(hash, uint8(plain[64]), bytes32(plain[:32]), bytes32(plain[32:64]));
        return signer != address(0) && signer == who ? this.isValidSignature.selector : bytes4(0xffffffff);
    }
}

/// Makes wallets at addresses that are known before they are there (ERC-6492).
contract Factory {
    function make(address who) external returns (address) {
        address there = addressOf(who);
        return there.code.length > 0 ? there : address(new Wallet{salt: bytes32(0)}(who));
    }

    function addressOf(address who) public view returns (address) {
        bytes32 code = keccak256(abi.encodePacked(type(Wallet).creationCode, abi.encode(who)));
        return address(uint160(uint256(keccak256(abi.encodePacked(bytes1(0xff), address(this), bytes32(0), code)))));
    }
}
