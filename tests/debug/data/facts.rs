// rustc --target nvptx64-nvidia-cuda --emit asm -C opt-level=1 -C target-cpu=sm_80
//     -C overflow-checks=off -C debuginfo=line-directives-only facts.rs
#![feature(no_core, lang_items, intrinsics, abi_ptx, rustc_attrs, link_llvm_intrinsics)]
#![no_core]
#![allow(internal_features, dead_code, improper_ctypes)]
#![crate_type = "lib"]
#[lang = "pointee_sized"]
pub trait PointeeSized {}
#[lang = "meta_sized"]
pub trait MetaSized: PointeeSized {}
#[lang = "sized"]
pub trait Sized: MetaSized {}
#[lang = "copy"]
pub trait Copy {}
#[lang = "legacy_receiver"]
pub trait LegacyReceiver {}
impl<T: PointeeSized> LegacyReceiver for &T {}
impl Copy for u32 {}
impl Copy for i32 {}
impl Copy for bool {}
impl<T: PointeeSized> Copy for *const T {}
impl<T: PointeeSized> Copy for *mut T {}
#[lang = "add"]
pub trait Add<R = Self> {
    type Output;
    fn add(self, r: R) -> Self::Output;
}
#[lang = "mul"]
pub trait Mul<R = Self> {
    type Output;
    fn mul(self, r: R) -> Self::Output;
}
impl Add for u32 {
    type Output = u32;
    fn add(self, r: u32) -> u32 { self + r }
}
impl Mul for u32 {
    type Output = u32;
    fn mul(self, r: u32) -> u32 { self * r }
}
#[lang = "partial_ord"]
pub trait PartialOrd<R: PointeeSized = Self>: PointeeSized {
    fn lt(&self, o: &R) -> bool;
    fn le(&self, o: &R) -> bool;
    fn gt(&self, o: &R) -> bool;
    fn ge(&self, o: &R) -> bool;
}
impl PartialOrd for u32 {
    fn lt(&self, o: &u32) -> bool { *self < *o }
    fn le(&self, o: &u32) -> bool { *self <= *o }
    fn gt(&self, o: &u32) -> bool { *self > *o }
    fn ge(&self, o: &u32) -> bool { *self >= *o }
}
extern "C" {
    #[link_name = "llvm.nvvm.read.ptx.sreg.tid.x"]
    fn tid() -> i32;
}
#[rustc_intrinsic]
pub unsafe fn arith_offset<T>(p: *const T, n: isize) -> *const T;

#[inline(never)]
#[no_mangle]
pub fn fact(n: u32) -> u32 {
    if n < 2 { 1 } else { n * fact(n + 4294967295) }
}

#[no_mangle]
pub unsafe extern "ptx-kernel" fn facts(out: *mut u32) {
    let i = tid();
    *(arith_offset(out as *const u32, i as isize) as *mut u32) = fact(i as u32);
}
