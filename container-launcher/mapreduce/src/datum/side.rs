//! A value of one of two sides.

use super::{EncodeAs, Value, malformed};
use crate::error::Result;

/// A value of one of two sides, as mappers emit them that [`InnerJoin`](crate::InnerJoin) and its like join: [`Left`] or
/// [`Right`] is what is emitted. A byte tells the side. Text output has the value alone. No Writable is the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side<L, R> {
    /// Of the job's first input.
    Left(L),
    /// Of the other one.
    Right(R),
}

/// What may be emitted as a value of the left [`Side`].
#[derive(Clone, Copy, Debug)]
pub struct Left<T>(pub T);

/// What may be emitted as a value of the right [`Side`].
#[derive(Clone, Copy, Debug)]
pub struct Right<T>(pub T);

const LEFT: u8 = 0;
const RIGHT: u8 = 1;

impl<L, R> Side<L, R> {
    /// The bytes of a value, of whichever side it is.
    #[inline]
    pub(crate) fn parts(bytes: &[u8]) -> Result<Side<&[u8], &[u8]>> {
        match bytes {
            [LEFT, left @ ..] => Ok(Side::Left(left)),
            [RIGHT, right @ ..] => Ok(Side::Right(right)),
            _ => Err(malformed::<Self>(bytes)),
        }
    }
}

impl<L: Value, R: Value> Value for Side<L, R> {
    type View<'a> = Side<L::View<'a>, R::View<'a>>;
    type Owned = Side<L::Owned, R::Owned>;
    const WRITABLE: Option<&'static str> = None;

    fn decode(bytes: &[u8]) -> Result<Self::View<'_>> {
        Ok(match Self::parts(bytes)? {
            Side::Left(left) => Side::Left(L::decode(left)?),
            Side::Right(right) => Side::Right(R::decode(right)?),
        })
    }

    fn text(bytes: &[u8], out: &mut Vec<u8>) -> Result<()> {
        match Self::parts(bytes)? {
            Side::Left(left) => L::text(left, out),
            Side::Right(right) => R::text(right, out),
        }
    }
}

impl<L, R, A: EncodeAs<L>, B: EncodeAs<R>> EncodeAs<Side<L, R>> for Side<A, B> {
    fn append(&self, out: &mut Vec<u8>) -> Result<()> {
        match self {
            Self::Left(left) => {
                out.push(LEFT);
                left.append(out)
            }
            Self::Right(right) => {
                out.push(RIGHT);
                right.append(out)
            }
        }
    }
}

impl<L, R, A: EncodeAs<L>> EncodeAs<Side<L, R>> for Left<A> {
    fn append(&self, out: &mut Vec<u8>) -> Result<()> {
        out.push(LEFT);
        self.0.append(out)
    }
}

impl<L, R, B: EncodeAs<R>> EncodeAs<Side<L, R>> for Right<B> {
    fn append(&self, out: &mut Vec<u8>) -> Result<()> {
        out.push(RIGHT);
        self.0.append(out)
    }
}

#[cfg(test)]
mod tests {
    use super::{EncodeAs, Left, Right, Side, Value};
    use crate::datum::Text;

    type Either = Side<Text, u64>;

    fn bytes(of: &impl EncodeAs<Either>) -> Vec<u8> {
        let mut bytes = Vec::new();
        of.append(&mut bytes).unwrap();
        bytes
    }

    #[test]
    fn a_value_comes_back_on_its_side() {
        let (left, right) = (bytes(&Left("ann")), bytes(&Right(7_u64)));
        assert_eq!(Either::decode(&left).unwrap(), Side::Left(&b"ann"[..]));
        assert_eq!(Either::decode(&right).unwrap(), Side::Right(7));
        let owned: <Either as Value>::Owned = Side::Left(b"ann".to_vec());
        assert_eq!(bytes(&owned), left);
        let mut text = Vec::new();
        Either::text(&left, &mut text).unwrap();
        Either::text(&right, &mut text).unwrap();
        assert_eq!(text, b"ann7");
        for broken in [&b""[..], &[2, 0], &[RIGHT_AND_SHORT, 0]] {
            assert!(Either::decode(broken).is_err(), "{broken:?}");
        }
    }

    const RIGHT_AND_SHORT: u8 = super::RIGHT;
}
